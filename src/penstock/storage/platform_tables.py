"""The tables of document 2: who may do what (tenants, grants, identity providers), what there is (workflows), what
happened (executions, events, logs) and who did it (audit)."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from penstock.storage.schema import Id, Serial, metadata


def _id() -> Column[str]:
    return Column("id", Id, primary_key=True)


def _times() -> tuple[Column[int], Column[int]]:
    return Column("created_at", BigInteger, nullable=False), Column("updated_at", BigInteger, nullable=False)


token_families = Table(
    "token_families",
    metadata,
    _id(),  # the `sid` of its tokens
    # Gone with its session: sign-out, a new password or a deactivation at either door ends the tokens too.
    Column("session_hash", LargeBinary, ForeignKey("sessions.token_hash", ondelete="CASCADE"), nullable=False),
    Column("refresh_jti", Text, nullable=False),
    Column("previous_jti", Text),
    Column("rotated_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Index(None, "session_hash"),
    Index(None, "expires_at"),
)

companies = Table(
    "companies",
    metadata,
    _id(),
    Column("parent_id", Id, ForeignKey("companies.id", ondelete="CASCADE")),
    Column("name", Text, nullable=False),
    Column("slug", Text, nullable=False),
    Column("owner_id", Id, ForeignKey("accounts.id"), nullable=False),
    Column("metadata", Text, nullable=False),
    *_times(),
    Index(
        "uq_companies_owner_id_slug",
        "owner_id",
        "slug",
        unique=True,
        sqlite_where=text("parent_id IS NULL"),
        postgresql_where=text("parent_id IS NULL"),
    ),
    Index("uq_companies_parent_id_slug", "parent_id", "slug", unique=True),
    Index(None, "parent_id", "created_at"),
)

projects = Table(
    "projects",
    metadata,
    _id(),
    Column("company_id", Id, ForeignKey("companies.id", ondelete="CASCADE"), nullable=False),
    Column("name", Text, nullable=False),
    Column("slug", Text, nullable=False),
    Column("description", Text, nullable=False),
    Column("metadata", Text, nullable=False),
    *_times(),
    UniqueConstraint("company_id", "slug"),
    Index(None, "company_id", "created_at"),
)

workflows = Table(
    "workflows",
    metadata,
    _id(),
    Column("project_id", Id, ForeignKey("projects.id", ondelete="CASCADE"), nullable=False),
    Column("name", Text, nullable=False),
    Column("slug", Text, nullable=False),
    Column("description", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("revision", Integer, nullable=False),  # grows with every change of the record: its ETag
    Column("status", Text, nullable=False),
    Column("deployed_version", Integer),
    Column("created_by", Id, nullable=False),
    Column("updated_by", Id, nullable=False),
    # Name, slug and description with case folded by us: SQLite knows the case of ASCII only.
    Column("search", Text, nullable=False),
    *_times(),
    UniqueConstraint("project_id", "slug"),
    # With the id, so that a list is sorted and cut from the index alone.
    Index(None, "project_id", "created_at", "id"),
)

workflow_versions = Table(
    "workflow_versions",
    metadata,
    Column("workflow_id", Id, ForeignKey("workflows.id", ondelete="CASCADE"), primary_key=True),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("config_yaml", Text, nullable=False),
    Column("findings", Text, nullable=False),  # what is wrong with it, as JSON: a version never changes, nor does this
    Column("created_by", Id, nullable=False),
    Column("created_at", BigInteger, nullable=False),
)

workflow_links = Table(
    "workflow_links",
    metadata,
    _id(),
    Column("source_workflow_id", Id, ForeignKey("workflows.id", ondelete="CASCADE"), nullable=False),
    Column("target_workflow_id", Id, ForeignKey("workflows.id", ondelete="CASCADE"), nullable=False),
    Column("link_type", Text, nullable=False),
    Column("config", Text, nullable=False),
    Column("created_by", Id, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    UniqueConstraint("source_workflow_id", "target_workflow_id", "link_type", name="uq_workflow_links_same"),
    Index(None, "source_workflow_id", "created_at", "id"),
    Index(None, "target_workflow_id"),
)

iam_providers = Table(
    "iam_providers",
    metadata,
    _id(),
    Column("company_id", Id, ForeignKey("companies.id", ondelete="CASCADE"), nullable=False),
    Column("provider_type", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("config", Text, nullable=False),
    Column("enabled", Boolean, nullable=False),
    *_times(),
    UniqueConstraint("company_id", "name"),
    Index(None, "company_id", "created_at"),
)

iam_mappings = Table(
    "iam_mappings",
    metadata,
    _id(),
    Column("provider_id", Id, ForeignKey("iam_providers.id", ondelete="CASCADE"), nullable=False),
    Column("external_identifier", Text, nullable=False),
    Column("resource_type", Text, nullable=False),
    Column("resource_id", Id, nullable=False),
    Column("role", SmallInteger, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    UniqueConstraint("provider_id", "external_identifier", "resource_id", name="uq_iam_mappings_same"),
    Index(None, "provider_id", "created_at"),
)

iam_identities = Table(
    "iam_identities",
    metadata,
    Column("provider_id", Id, ForeignKey("iam_providers.id", ondelete="CASCADE"), primary_key=True),
    Column("subject", Text, primary_key=True),
    # Who vouched for the subject (an issuer, an entity id, a directory): another one's people are other people.
    Column("authority", Text, nullable=False),
    Column("user_id", Id, ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Index(None, "user_id"),
)

_LEVELS = ("company", "project", "workflow")

# Every grant of a role, at whatever level: memberships (company or project), workflow permissions, and what a mapping
# of an identity provider gave. One table, so that the effective role is one indexed look.
grants = Table(
    "grants",
    metadata,
    _id(),
    Column("user_id", Id, ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False),
    Column("company_id", Id, ForeignKey("companies.id", ondelete="CASCADE")),
    Column("project_id", Id, ForeignKey("projects.id", ondelete="CASCADE")),
    Column("workflow_id", Id, ForeignKey("workflows.id", ondelete="CASCADE")),
    Column("mapping_id", Id, ForeignKey("iam_mappings.id", ondelete="CASCADE")),
    Column("role", SmallInteger, nullable=False),
    *_times(),
    CheckConstraint(
        " + ".join(f"CASE WHEN {level}_id IS NULL THEN 0 ELSE 1 END" for level in _LEVELS) + " = 1", name="one_target"
    ),
    Index(None, "user_id"),
    Index(None, "company_id", "user_id"),
    Index(None, "project_id", "user_id"),
    Index(None, "workflow_id", "user_id"),
    Index(None, "mapping_id"),
    *(
        Index(
            f"uq_grants_{level}_direct",
            "user_id",
            f"{level}_id",
            unique=True,
            sqlite_where=text(f"mapping_id IS NULL AND {level}_id IS NOT NULL"),
            postgresql_where=text(f"mapping_id IS NULL AND {level}_id IS NOT NULL"),
        )
        for level in _LEVELS
    ),
)

company_domains = Table(
    "company_domains",
    metadata,
    Column("domain", Text, primary_key=True),  # so that no two companies speak for one domain
    Column("company_id", Id, ForeignKey("companies.id", ondelete="CASCADE"), nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Index(None, "company_id"),
)

secrets = Table(
    "secrets",
    metadata,
    Column("project_id", Id, ForeignKey("projects.id", ondelete="CASCADE"), primary_key=True),
    Column("name", Text, primary_key=True),
    Column("key_id", Text, nullable=False),  # which key opens the value, so that keys can be rotated
    Column("value", LargeBinary, nullable=False),  # encrypted
    Column("updated_by", Id, nullable=False),
    *_times(),
    Index(None, "project_id", "created_at", "name"),
    Index(None, "key_id"),
)

executions = Table(
    "executions",
    metadata,
    _id(),
    Column("workflow_id", Id, ForeignKey("workflows.id", ondelete="CASCADE"), nullable=False),
    Column("version", Integer, nullable=False),
    Column("trigger_type", Text, nullable=False),
    Column("trigger_data", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("output_data", Text),
    Column("error_message", Text),
    Column("error", Text),
    Column("idempotency_key", Text),
    Column("started_at", BigInteger),
    Column("completed_at", BigInteger),
    Column("created_at", BigInteger, nullable=False),
    Column("metadata", Text, nullable=False),
    Column("parent_id", Id),  # the execution whose step started it, and ends it with its own
    Column("paused_at", BigInteger),
    # What was asked of it (`cancel`, `pause`, `resume`) and its engine has not yet seen to.
    Column("asked", Text),
    # Where `trigger_data` and `output_data` are masked: what whoever waits, or walks again, needs.
    Column("sealed_input", Text),
    Column("sealed_output", Text),
    Column("triggered_by", Id),  # the user who did; no key: what happened stays, whoever goes
    # The list, newest first; what the charts ask for is in the index itself (a row may drag 256 KiB of data along).
    Index("ix_executions_listed", "workflow_id", "created_at", "id", "status", "started_at", "completed_at"),
    Index("ix_executions_listed_by_status", "workflow_id", "status", "created_at", "id"),
    # The list over many workflows. Without the status, so that it is written once for each execution.
    Index("ix_executions_newest", "created_at", "id", "workflow_id", "trigger_type"),
    Index(
        "ix_executions_unended",
        "status",
        sqlite_where=text("completed_at IS NULL"),
        postgresql_where=text("completed_at IS NULL"),
    ),
    Index(None, "completed_at"),
    Index(
        "ix_executions_idempotency_key",
        "workflow_id",
        "idempotency_key",
        sqlite_where=text("idempotency_key IS NOT NULL"),
        postgresql_where=text("idempotency_key IS NOT NULL"),
    ),
    *(
        Index(
            f"ix_executions_{name}",
            name,
            sqlite_where=text(f"{name} IS NOT NULL"),
            postgresql_where=text(f"{name} IS NOT NULL"),
        )
        for name in ("parent_id", "asked")
    ),
)

steps = Table(
    "steps",
    metadata,
    _id(),
    Column("execution_id", Id, ForeignKey("executions.id", ondelete="CASCADE"), nullable=False),
    Column("step_name", Text, nullable=False),
    Column("step_type", Text, nullable=False),
    Column("reference", Text, nullable=False),
    Column("sequence_num", Integer, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("status", Text, nullable=False),
    Column("input_data", Text),
    Column("output_data", Text),
    Column("error_message", Text),
    Column("started_at", BigInteger),
    Column("completed_at", BigInteger),
    Column("metadata", Text, nullable=False),
    # Its place in the walk through the definition, and what a walk needs besides the output, to go on after it.
    Column("position", Text, nullable=False, server_default=""),
    Column("state", Text),
    UniqueConstraint("execution_id", "sequence_num"),
)

events = Table(
    "events",
    metadata,
    Column("id", Serial, primary_key=True, autoincrement=True),
    Column("type", Text, nullable=False),
    Column("workflow_id", Id, ForeignKey("workflows.id", ondelete="CASCADE"), nullable=False),
    Column("execution_id", Id),
    Column("step_name", Text),
    Column("data", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Index(None, "workflow_id", "id"),
    Index(None, "workflow_id", "type", "id"),
    Index(None, "workflow_id", "created_at"),
    Index(None, "execution_id", "id"),
    sqlite_autoincrement=True,
)

log_entries = Table(
    "log_entries",
    metadata,
    Column("id", Serial, primary_key=True, autoincrement=True),
    Column("workflow_id", Id, ForeignKey("workflows.id", ondelete="CASCADE"), nullable=False),
    Column("execution_id", Id),
    Column("level", SmallInteger, nullable=False),
    Column("message", Text, nullable=False),
    Column("folded", Text),  # the message in lower case, where it is more than ASCII: SQLite folds nothing else
    Column("module_name", Text, nullable=False),
    Column("fields", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Index(None, "workflow_id", "id"),
    Index(None, "workflow_id", "created_at"),
    Index(None, "execution_id", "id"),
    # With the time, so that those of a module are found and counted in the index alone.
    Index("ix_log_entries_module", "module_name", "workflow_id", "id", "created_at"),
    # Warnings and worse are few among many, and what people look for.
    Index(
        "ix_log_entries_alarming",
        "workflow_id",
        "id",
        "level",
        sqlite_where=text("level >= 2"),
        postgresql_where=text("level >= 2"),
    ),
    sqlite_autoincrement=True,
)

# How many there are, kept by whoever writes them, in the same transaction: counting a million rows takes longer than
# a dashboard may.
workflow_counts = Table(
    "workflow_counts",
    metadata,
    Column("workflow_id", Id, ForeignKey("workflows.id", ondelete="CASCADE"), primary_key=True),
    Column("what", Text, primary_key=True),  # a status of executions, a level of logs, or `events`
    Column("n", BigInteger, nullable=False),
)

# Executions by the hour in which they were created, and by what has become of them.
workflow_hours = Table(
    "workflow_hours",
    metadata,
    Column("workflow_id", Id, ForeignKey("workflows.id", ondelete="CASCADE"), primary_key=True),
    Column("hour", BigInteger, primary_key=True, autoincrement=False),
    Column("status", Text, primary_key=True),
    Column("n", BigInteger, nullable=False),
)

audit_entries = Table(
    "audit_entries",
    metadata,
    _id(),
    Column("company_id", Id),  # the top-level company whose log it stands in; no key: it outlives the company
    Column("organization_id", Id),  # the organization below it, when what happened was in one
    Column("user_id", Id),
    Column("action", Text, nullable=False),
    Column("resource_type", Text, nullable=False),
    Column("resource_id", Text),
    Column("details", Text, nullable=False),
    Column("ip_address", Text, nullable=False),
    Column("user_agent", Text, nullable=False),
    Column("request_id", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    # One for each filter, each in the order of the list: a page is read, never sorted.
    *(
        Index(f"ix_audit_entries_company_id{name}", "company_id", *filters, "created_at", "id")
        for name, filters in {
            "": (),
            "_organization_id": ("organization_id",),
            "_action": ("action",),
            "_resource_type": ("resource_type",),
            "_resource_id": ("resource_id",),
            "_user_id": ("user_id",),
        }.items()
    ),
    Index(None, "created_at"),
)

# How many entries a log has. The database keeps it by itself (triggers, see the migration): no writer can forget.
audit_counts = Table(
    "audit_counts",
    metadata,
    Column("scope_id", Id, primary_key=True),  # whose log: a company, or an organization
    Column("user_id", Text, primary_key=True),  # blank: of everybody
    Column("day", Integer, primary_key=True, autoincrement=False),  # since 1970; -1: of all days
    Column("action", Text, primary_key=True),
    Column("resource_type", Text, primary_key=True),
    Column("shard", SmallInteger, primary_key=True, autoincrement=False),  # the number is the sum over all of them
    Column("n", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

# Holds a row only inside the transaction in which retention deletes: SQLite's triggers look for it.
audit_retention = Table(
    "audit_retention",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
)
