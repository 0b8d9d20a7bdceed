"""Logs are searched in any case, in any script: what SQLite cannot fold stands beside the message, folded."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("log_entries", sa.Column("folded", sa.Text(), nullable=True))
    entries = sa.table("log_entries", sa.column("id"), sa.column("message"), sa.column("folded"))
    connection = op.get_bind()
    for id_, message in connection.execute(sa.select(entries.c.id, entries.c.message)).yield_per(1000):
        if not message.isascii():
            connection.execute(entries.update().where(entries.c.id == id_).values(folded=message.lower()))
