"""How many entries an audit log has, by action, kind of resource, user and day: kept by the database as it is written.

Whoever writes an entry or deletes one for retention, the numbers follow in the same transaction.
"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_ID = sa.Text().with_variant(sa.Uuid(as_uuid=False), "postgresql")
_DAY = 86_400_000_000
_KEY = ("scope_id", "user_id", "day", "action", "resource_type", "shard")


def upgrade() -> None:
    op.create_table(
        "audit_counts",
        sa.Column("scope_id", _ID, nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("day", sa.Integer(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("resource_type", sa.Text(), nullable=False),
        sa.Column("shard", sa.SmallInteger(), nullable=False),
        sa.Column("n", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint(*_KEY, name=op.f("pk_audit_counts")),
        sqlite_with_rowid=False,
    )
    sqlite = op.get_context().dialect.name == "sqlite"
    for scope in ("company_id", "organization_id"):
        for user, day, where in _kinds("", text="user_id" if sqlite else "user_id::text"):
            op.execute(
                f"INSERT INTO audit_counts ({', '.join(_KEY)}, n)"
                f" SELECT {scope}, {user}, {day}, action, resource_type, 0, count(*) FROM audit_entries"
                f" WHERE company_id IS NOT NULL AND {scope} IS NOT NULL{where} GROUP BY 1, 2, 3, 4, 5"
            )
    for statement in _sqlite() if sqlite else _POSTGRESQL:
        op.execute(statement)


def _kinds(row: str, text: str) -> tuple[tuple[str, str, str], ...]:
    """What is counted of each entry: all, all of its day, and both of its user alone."""
    day, by = f"{row}created_at / {_DAY}", f" AND {row}user_id IS NOT NULL"
    return ("''", "-1", ""), ("''", day, ""), (text, "-1", by), (text, day, by)


def _sqlite() -> list[str]:
    added, taken = [], []
    for scope in ("company_id", "organization_id"):
        for user, day, where in _kinds("NEW.", text="NEW.user_id"):
            added.append(
                f"INSERT INTO audit_counts ({', '.join(_KEY)}, n)"
                f" SELECT NEW.{scope}, {user}, {day}, NEW.action, NEW.resource_type, 0, 1"
                f" WHERE NEW.{scope} IS NOT NULL{where}"
                f" ON CONFLICT ({', '.join(_KEY)}) DO UPDATE SET n = n + 1;"
            )
        for user, day, where in _kinds("OLD.", text="OLD.user_id"):
            taken.append(
                f"UPDATE audit_counts SET n = n - 1 WHERE scope_id = OLD.{scope} AND user_id = {user} AND day = {day}"
                f" AND action = OLD.action AND resource_type = OLD.resource_type AND shard = 0{where};"
            )
    counted = "CREATE TRIGGER audit_entries_are_counted AFTER INSERT ON audit_entries WHEN NEW.company_id IS NOT NULL"
    taken_off = (
        "CREATE TRIGGER audit_entries_are_taken_off AFTER DELETE ON audit_entries WHEN OLD.company_id IS NOT NULL"
    )
    return [f"{counted} BEGIN {' '.join(added)} END", f"{taken_off} BEGIN {' '.join(taken)} END"]


# A number is a row that is locked until its writer has committed. So it is written at the very end of a transaction,
# and in eight rows, by the number of the connection: nobody waits for long. The lock before it makes the order of
# those rows the same for all who write to a log, else two could wait for each other for ever.
_POSTGRESQL = (
    # Each number has many values in its life: room beside it keeps the index small, and what is over is swept soon.
    "ALTER TABLE audit_counts SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02)",
    f"""CREATE FUNCTION count_audit_entry() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE own smallint := pg_backend_pid() % 8;
    BEGIN
      PERFORM pg_advisory_xact_lock(hashtextextended(NEW.company_id::text, own));
      INSERT INTO audit_counts AS kept ({", ".join(_KEY)}, n)
      SELECT place.id, by.user_id, at.day, NEW.action, NEW.resource_type, own, 1
      FROM (VALUES (NEW.company_id), (NEW.organization_id)) AS place (id),
           (VALUES (''), (NEW.user_id::text)) AS by (user_id),
           (VALUES (-1), ((NEW.created_at / {_DAY})::integer)) AS at (day)
      WHERE place.id IS NOT NULL AND by.user_id IS NOT NULL
      ON CONFLICT ({", ".join(_KEY)}) DO UPDATE SET n = kept.n + 1;
      RETURN NULL;
    END $$""",
    """CREATE CONSTRAINT TRIGGER audit_entries_are_counted AFTER INSERT ON audit_entries
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.company_id IS NOT NULL)
    EXECUTE FUNCTION count_audit_entry()""",
    # Retention has rows of its own, below zero.
    f"""CREATE FUNCTION take_off_audit_entries() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO audit_counts AS kept ({", ".join(_KEY)}, n)
      SELECT place.id, by.user_id, at.day, gone.action, gone.resource_type, -1, -count(*)
      FROM gone,
           LATERAL (VALUES (gone.company_id), (gone.organization_id)) AS place (id),
           LATERAL (VALUES (''), (gone.user_id::text)) AS by (user_id),
           LATERAL (VALUES (-1), ((gone.created_at / {_DAY})::integer)) AS at (day)
      WHERE gone.company_id IS NOT NULL AND place.id IS NOT NULL AND by.user_id IS NOT NULL
      GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5
      ON CONFLICT ({", ".join(_KEY)}) DO UPDATE SET n = kept.n + excluded.n;
      RETURN NULL;
    END $$""",
    """CREATE TRIGGER audit_entries_are_taken_off AFTER DELETE ON audit_entries
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION take_off_audit_entries()""",
)
