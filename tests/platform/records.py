"""Rows that tests put into the database by themselves, where the API would be a detour; and a look at what is there."""

from functools import cache
from typing import Any

import httpx
from sqlalchemy import bindparam, func, insert, select, text, update

from penstock.ids import uuid7
from penstock.storage import Database, Statement, Transaction, now
from penstock.storage.schema import metadata
from tests.platform.people import Person

Place = Database | Transaction


def database_of(client: httpx.AsyncClient) -> Database:
    """The database of the application that this client talks to."""
    database: Database = client.app.app.state.database  # type: ignore[attr-defined]
    return database


async def add(database: Place, table: str, **values: Any) -> None:
    """What the test does not care about is blank or zero."""
    for column in metadata.tables[table].c:
        if not column.nullable and column.name not in values and column.autoincrement is not True:
            values[column.name] = "" if column.type.python_type is str else 0
    statement = _insert(table, *sorted(values))
    if isinstance(database, Transaction):
        await database.run(statement, **values)
        return
    async with database.transaction() as tx:
        await tx.run(statement, **values)


@cache  # thousands are added, and to compile it takes longer than to add
def _insert(table: str, *columns: str) -> Statement:
    return Statement(insert(metadata.tables[table]).values({name: bindparam(name) for name in columns}))


async def count(database: Database, table: str, where: str = "1 = 1", **params: Any) -> int:
    found = await database.all(
        Statement(select(func.count()).select_from(metadata.tables[table]).where(text(where).bindparams(**params)))
    )
    return int(found[0][0])


def _times() -> dict[str, int]:
    return {"created_at": now(), "updated_at": now()}


async def add_grant(database: Place, user_id: str, role: int, **place: str) -> str:
    """A direct grant: `company_id`, `project_id` or `workflow_id`."""
    id_ = uuid7()
    await add(database, "grants", id=id_, user_id=user_id, role=role, **place, **_times())
    return id_


async def add_company(database: Place, owner_id: str, parent_id: str | None = None) -> str:
    id_ = uuid7()
    await add(
        database,
        "companies",
        id=id_,
        parent_id=parent_id,
        name="Company",
        slug=id_,
        owner_id=owner_id,
        metadata="{}",
        **_times(),
    )
    return id_


async def add_project(database: Place, company_id: str) -> str:
    id_ = uuid7()
    await add(
        database,
        "projects",
        id=id_,
        company_id=company_id,
        name="Project",
        slug=id_,
        description="",
        metadata="{}",
        **_times(),
    )
    return id_


async def add_workflow(database: Place, project_id: str, user_id: str, *, status: str = "draft") -> str:
    id_ = uuid7()
    await add(
        database,
        "workflows",
        id=id_,
        project_id=project_id,
        name="Workflow",
        slug=id_,
        description="",
        version=1,
        revision=1,
        status=status,
        created_by=user_id,
        updated_by=user_id,
        **_times(),
    )
    await add(
        database,
        "workflow_versions",
        workflow_id=id_,
        version=1,
        config_yaml="",
        findings="[]",
        created_by=user_id,
        created_at=now(),
    )
    return id_


async def add_execution(
    database: Place,
    workflow_id: str,
    *,
    status: str = "pending",
    started_at: int | None = None,
    completed_at: int | None = None,
    parent_id: str | None = None,
) -> str:
    id_ = uuid7()
    await add(
        database,
        "executions",
        id=id_,
        workflow_id=workflow_id,
        version=1,
        trigger_type="manual",
        trigger_data="{}",
        status=status,
        created_at=now(),
        started_at=started_at,
        completed_at=completed_at,
        metadata="{}",
        parent_id=parent_id,
    )
    return id_


async def add_provider(database: Place, company_id: str) -> tuple[str, str]:
    """An identity provider and a mapping of it."""
    provider_id, mapping_id = uuid7(), uuid7()
    await add(
        database,
        "iam_providers",
        id=provider_id,
        company_id=company_id,
        provider_type="custom",
        name=provider_id,
        config="{}",
        enabled=True,
        **_times(),
    )
    await add(
        database,
        "iam_mappings",
        id=mapping_id,
        provider_id=provider_id,
        external_identifier="staff",
        resource_type="company",
        resource_id=company_id,
        role=1,
        created_at=now(),
    )
    return provider_id, mapping_id


async def id_of(person: Person) -> str:
    return str((await person.get("/auth/me")).json()["id"])


async def deactivate(database: Database, user_id: str) -> None:
    accounts = metadata.tables["accounts"]
    async with database.transaction() as tx:
        await tx.run(Statement(update(accounts).where(accounts.c.id == user_id).values(active=False)))
