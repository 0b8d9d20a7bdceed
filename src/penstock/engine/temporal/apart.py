"""A walk and the database that are not of the same moment: one of them was restored to an older one. What counts is
what is stored, and the walk begins again from there."""

from sqlalchemy import bindparam, select
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory

from penstock.engine.temporal.calls import APART
from penstock.storage import Database, Statement
from penstock.storage.platform_tables import steps

_STATUS = Statement(select(steps.c.status).where(steps.c.id == bindparam("id")))


def apart(why: str) -> ApplicationError:
    return ApplicationError(why, type=APART, non_retryable=True, category=ApplicationErrorCategory.BENIGN)


async def require_running(database: Database, step_id: str, *, stored: bool = True) -> None:
    """A Temporal that was restored asks for what has been done since. `stored`: that the step runs is, by now."""
    row = await database.one(_STATUS, id=step_id)
    if (row is None and stored) or (row is not None and row[0] != "running"):
        raise apart("its step does not run")
