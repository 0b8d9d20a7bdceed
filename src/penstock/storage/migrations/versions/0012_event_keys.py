"""Requests that send events with a key: repeated, they store nothing more."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

_ID = sa.Text().with_variant(sa.Uuid(as_uuid=False), "postgresql")


def upgrade() -> None:
    op.create_table(
        "event_keys",
        sa.Column("project_id", _ID, nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("received_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f("fk_event_keys_project_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("project_id", "key", name=op.f("pk_event_keys")),
    )
    op.create_index(op.f("ix_event_keys_received_at"), "event_keys", ["received_at"], unique=False)
