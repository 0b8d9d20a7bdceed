"""Who started an execution; and executions of many workflows in one list."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

_ID = sa.Text().with_variant(sa.Uuid(as_uuid=False), "postgresql")


def upgrade() -> None:
    op.add_column("executions", sa.Column("triggered_by", _ID, nullable=True))
    columns = ["created_at", "id", "workflow_id", "trigger_type"]
    op.create_index("ix_executions_newest", "executions", columns, unique=False)
