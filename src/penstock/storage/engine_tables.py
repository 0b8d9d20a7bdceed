"""What the engine keeps besides executions and steps: who runs it, what comes in, and what starts when."""

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Index, Integer, LargeBinary, Table, Text, text

from penstock.storage.schema import Id, Serial, metadata

# One row. Whoever holds it runs the engine; `fence` grows with every holder, and every write of the engine asks for it.
engine_lease = Table(
    "engine_lease",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("holder", Text, nullable=False),
    Column("fence", BigInteger, nullable=False),
    Column("beat", BigInteger, nullable=False),
)

workflow_schedules = Table(
    "workflow_schedules",
    metadata,
    Column("workflow_id", Id, ForeignKey("workflows.id", ondelete="CASCADE"), primary_key=True),
    Column("version", Integer, nullable=False),
    Column("next_run_at", BigInteger),
    # What a trigger by events has consumed so far, while it waits for others of its set.
    Column("state", Text, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    Index(
        "ix_workflow_schedules_due",
        "next_run_at",
        sqlite_where=text("next_run_at IS NOT NULL"),
        postgresql_where=text("next_run_at IS NOT NULL"),
    ),
)

# CloudEvents that came in, or were emitted, in the order of their commits.
inbox = Table(
    "inbox",
    metadata,
    Column("id", Serial, primary_key=True, autoincrement=True),
    Column("project_id", Id, ForeignKey("projects.id", ondelete="CASCADE"), nullable=False),
    Column("event", Text, nullable=False),
    Column("received_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("emitted", Boolean, nullable=False),  # by a workflow here: it goes to the sinks, too
    Column("handled", Boolean, nullable=False),  # offered to everybody who listened when it came
    Column("consumed", Boolean, nullable=False),
    Index("ix_inbox_unhandled", "id", sqlite_where=text("handled = 0"), postgresql_where=text("handled = false")),
    Index(
        "ix_inbox_kept",
        "project_id",
        "id",
        sqlite_where=text("consumed = 0"),
        postgresql_where=text("consumed = false"),
    ),
    # What came after something, and the newest: whoever listens on Temporal looks, and is looked after.
    Index("ix_inbox_listed", "project_id", "id"),
    Index(None, "expires_at"),
    sqlite_autoincrement=True,
)

# Requests that brought events and had a key: repeated within a day, they bring nothing more.
event_keys = Table(
    "event_keys",
    metadata,
    Column("project_id", Id, ForeignKey("projects.id", ondelete="CASCADE"), primary_key=True),
    Column("key", Text, primary_key=True),
    Column("digest", Text, nullable=False),
    Column("received_at", BigInteger, nullable=False),
    Index(None, "received_at"),
)

# What each listening step has consumed: an event once for each of them.
consumed_events = Table(
    "consumed_events",
    metadata,
    Column("execution_id", Id, ForeignKey("executions.id", ondelete="CASCADE"), primary_key=True),
    Column("position", Text, primary_key=True),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("event", Text, nullable=False),
)

# The number of the last batch of an execution that a Temporal worker has written: one that comes again is not.
temporal_executions = Table(
    "temporal_executions",
    metadata,
    Column("execution_id", Id, ForeignKey("executions.id", ondelete="CASCADE"), primary_key=True),
    Column("recorded", Integer, nullable=False),
    # Which walk wrote last, and what its history may not know of.
    Column("writer", Text, nullable=False),
    Column("written", Text, nullable=False),
)

# Executions on Temporal of a workflow that has a limit: those that may begin. Once they run, the row says nothing more.
temporal_places = Table(
    "temporal_places",
    metadata,
    Column("execution_id", Id, ForeignKey("executions.id", ondelete="CASCADE"), primary_key=True),
    Column("workflow_id", Id, nullable=False),
    Index(None, "workflow_id"),
)

# Steps on Temporal that listen: whom to ring up when an event comes, and which events they have looked at.
temporal_listeners = Table(
    "temporal_listeners",
    metadata,
    Column("execution_id", Id, ForeignKey("executions.id", ondelete="CASCADE"), primary_key=True),
    Column("position", Text, primary_key=True),
    Column("project_id", Id, ForeignKey("projects.id", ondelete="CASCADE"), nullable=False),
    Column("seen", BigInteger, nullable=False),
    Index(None, "project_id"),
)

# What is too large for a history of Temporal, sealed; the history has its hash.
temporal_payloads = Table(
    "temporal_payloads",
    metadata,
    Column("execution_id", Id, ForeignKey("executions.id", ondelete="CASCADE"), primary_key=True),
    Column("hash", Text, primary_key=True),
    Column("payload", LargeBinary, nullable=False),
)
