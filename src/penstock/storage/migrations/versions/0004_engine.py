"""The engine: its lease, schedules, events in, and what recovery reads of a step."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_ID = sa.Text().with_variant(sa.Uuid(as_uuid=False), "postgresql")


def upgrade() -> None:
    op.create_table(
        "engine_lease",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("holder", sa.Text(), nullable=False),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.Column("beat", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_engine_lease")),
    )
    op.create_table(
        "workflow_schedules",
        sa.Column("workflow_id", _ID, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("next_run_at", sa.BigInteger(), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["workflow_id"], ["workflows.id"], name=op.f("fk_workflow_schedules_workflow_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("workflow_id", name=op.f("pk_workflow_schedules")),
    )
    _partial("ix_workflow_schedules_due", "workflow_schedules", ["next_run_at"], "next_run_at IS NOT NULL")
    op.create_table(
        "inbox",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("project_id", _ID, nullable=False),
        sa.Column("event", sa.Text(), nullable=False),
        sa.Column("received_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("emitted", sa.Boolean(), nullable=False),
        sa.Column("handled", sa.Boolean(), nullable=False),
        sa.Column("consumed", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=op.f("fk_inbox_project_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_inbox")),
        sqlite_autoincrement=True,
    )
    _partial("ix_inbox_unhandled", "inbox", ["id"], "handled = 0", "handled = false")
    _partial("ix_inbox_kept", "inbox", ["project_id", "id"], "consumed = 0", "consumed = false")
    op.create_index(op.f("ix_inbox_expires_at"), "inbox", ["expires_at"], unique=False)
    op.create_table(
        "consumed_events",
        sa.Column("execution_id", _ID, nullable=False),
        sa.Column("position", sa.Text(), nullable=False),
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("event", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["execution_id"], ["executions.id"], name=op.f("fk_consumed_events_execution_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("execution_id", "position", "number", name=op.f("pk_consumed_events")),
    )
    op.add_column("executions", sa.Column("parent_id", _ID, nullable=True))
    op.add_column("executions", sa.Column("paused_at", sa.BigInteger(), nullable=True))
    op.add_column("executions", sa.Column("asked", sa.Text(), nullable=True))
    for name in ("parent_id", "asked"):
        _partial(f"ix_executions_{name}", "executions", [name], f"{name} IS NOT NULL")
    op.add_column("steps", sa.Column("position", sa.Text(), server_default="", nullable=False))
    op.add_column("steps", sa.Column("state", sa.Text(), nullable=True))


def _partial(name: str, table: str, columns: list[str], where: str, postgresql: str | None = None) -> None:
    op.create_index(
        name,
        table,
        columns,
        unique=False,
        sqlite_where=sa.text(where),
        postgresql_where=sa.text(postgresql or where),
    )
