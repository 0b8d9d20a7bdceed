"""Secrets that one workflow gives to another are stored sealed."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name in ("sealed_input", "sealed_output"):
        op.add_column("executions", sa.Column(name, sa.Text(), nullable=True))
