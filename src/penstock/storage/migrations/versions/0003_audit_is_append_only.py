"""The audit log is append-only: the database refuses to change it, and to delete from it except for retention.

Retention opens its own transaction: on SQLite with a row in `audit_retention`, on PostgreSQL with a setting that ends
with the transaction.
"""

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_SQLITE = (
    """CREATE TRIGGER audit_entries_never_change BEFORE UPDATE ON audit_entries
    BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END""",
    """CREATE TRIGGER audit_entries_stay BEFORE DELETE ON audit_entries
    WHEN NOT EXISTS (SELECT 1 FROM audit_retention)
    BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END""",
    # INSERT OR REPLACE removes the row that stands in its way without asking the trigger above.
    """CREATE TRIGGER audit_entries_are_not_replaced BEFORE INSERT ON audit_entries
    WHEN EXISTS (SELECT 1 FROM audit_entries WHERE id = NEW.id)
      OR EXISTS (SELECT 1 FROM audit_entries WHERE rowid = NEW.rowid)
    BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END""",
)
_POSTGRESQL = (
    """CREATE FUNCTION audit_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF TG_OP = 'DELETE' AND current_setting('penstock.retention', true) = 'on' THEN
        RETURN OLD;
      END IF;
      RAISE EXCEPTION 'the audit log is append-only';
    END $$""",
    """CREATE TRIGGER audit_entries_stay BEFORE UPDATE OR DELETE ON audit_entries
    FOR EACH ROW EXECUTE FUNCTION audit_is_append_only()""",
    """CREATE TRIGGER audit_entries_are_not_emptied BEFORE TRUNCATE ON audit_entries
    FOR EACH STATEMENT EXECUTE FUNCTION audit_is_append_only()""",
    # Also for a session that plays a replica.
    "ALTER TABLE audit_entries ENABLE ALWAYS TRIGGER audit_entries_stay",
    "ALTER TABLE audit_entries ENABLE ALWAYS TRIGGER audit_entries_are_not_emptied",
)


def upgrade() -> None:
    for statement in _SQLITE if op.get_context().dialect.name == "sqlite" else _POSTGRESQL:
        op.execute(statement)
