"""Executions on Temporal: what was recorded of them, who listens, and payloads that stay out of histories."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

_ID = sa.Text().with_variant(sa.Uuid(as_uuid=False), "postgresql")


def upgrade() -> None:
    op.create_table(
        "temporal_executions",
        sa.Column("execution_id", _ID, nullable=False),
        sa.Column("recorded", sa.Integer(), nullable=False),
        sa.Column("writer", sa.Text(), nullable=False),
        sa.Column("written", sa.Text(), nullable=False),
        _of_an_execution("temporal_executions"),
        sa.PrimaryKeyConstraint("execution_id", name=op.f("pk_temporal_executions")),
    )
    op.create_table(
        "temporal_listeners",
        sa.Column("execution_id", _ID, nullable=False),
        sa.Column("position", sa.Text(), nullable=False),
        sa.Column("project_id", _ID, nullable=False),
        sa.Column("seen", sa.BigInteger(), nullable=False),
        _of_an_execution("temporal_listeners"),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f("fk_temporal_listeners_project_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("execution_id", "position", name=op.f("pk_temporal_listeners")),
    )
    op.create_index(op.f("ix_temporal_listeners_project_id"), "temporal_listeners", ["project_id"], unique=False)
    op.create_index("ix_inbox_listed", "inbox", ["project_id", "id"], unique=False)
    op.create_table(
        "temporal_payloads",
        sa.Column("execution_id", _ID, nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("payload", sa.LargeBinary(), nullable=False),
        _of_an_execution("temporal_payloads"),
        sa.PrimaryKeyConstraint("execution_id", "hash", name=op.f("pk_temporal_payloads")),
    )


def _of_an_execution(table: str) -> sa.ForeignKeyConstraint:
    name = op.f(f"fk_{table}_execution_id")
    return sa.ForeignKeyConstraint(["execution_id"], ["executions.id"], name=name, ondelete="CASCADE")
