"""Logs of one module are found without looking at the others."""

from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # The module first: else SQLite takes it for the list of all entries, too, and sorts them.
    columns = ["module_name", "workflow_id", "id", "created_at"]
    op.create_index("ix_log_entries_module", "log_entries", columns, unique=False)
