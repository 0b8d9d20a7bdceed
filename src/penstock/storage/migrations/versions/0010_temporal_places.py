"""Executions on Temporal whose workflow limits how many of them run: those that may begin."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

_ID = sa.Text().with_variant(sa.Uuid(as_uuid=False), "postgresql")


def upgrade() -> None:
    op.create_table(
        "temporal_places",
        sa.Column("execution_id", _ID, nullable=False),
        sa.Column("workflow_id", _ID, nullable=False),
        sa.ForeignKeyConstraint(
            ["execution_id"], ["executions.id"], name=op.f("fk_temporal_places_execution_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("execution_id", name=op.f("pk_temporal_places")),
    )
    op.create_index(op.f("ix_temporal_places_workflow_id"), "temporal_places", ["workflow_id"], unique=False)
