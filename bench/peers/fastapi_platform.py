"""Workflows on FastAPI with SQLAlchemy's async ORM (aiosqlite): read, list, create and update, written plainly.

The same work as ours: a bearer token whose session is looked up, the role on the workflow's project or company, the
newest version of the definition, and for writes a check of the YAML and an audit entry in the same transaction.
"""

import os
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Annotated, Any

import jwt
import yaml
from fastapi import Depends, FastAPI, Header, HTTPException
from pydantic import BaseModel, ConfigDict
from sqlalchemy import ForeignKey, event, func, or_, select
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship
from sqlalchemy.pool import ConnectionPoolEntry

SECRET = "a secret for measurements only, 32 bytes long"
engine = create_async_engine(f"sqlite+aiosqlite:///{os.environ['BENCH_DATABASE']}")
sessions = async_sessionmaker(engine, expire_on_commit=False)


@event.listens_for(engine.sync_engine, "connect")
def set_pragmas(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
    cursor = connection.cursor()
    for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON", "busy_timeout = 10000"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


class Base(DeclarativeBase):
    pass


class User(Base):
    __tablename__ = "users"
    id: Mapped[str] = mapped_column(primary_key=True)
    email: Mapped[str] = mapped_column(unique=True)


class UserSession(Base):
    __tablename__ = "sessions"
    id: Mapped[str] = mapped_column(primary_key=True)
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id"))
    user: Mapped[User] = relationship(lazy="joined")


class Project(Base):
    __tablename__ = "projects"
    id: Mapped[str] = mapped_column(primary_key=True)
    company_id: Mapped[str] = mapped_column(index=True)


class Grant(Base):
    __tablename__ = "grants"
    id: Mapped[int] = mapped_column(primary_key=True)
    user_id: Mapped[str] = mapped_column(index=True)
    company_id: Mapped[str | None] = mapped_column(index=True)
    project_id: Mapped[str | None] = mapped_column(index=True)
    role: Mapped[int]


class Workflow(Base):
    __tablename__ = "workflows"
    id: Mapped[str] = mapped_column(primary_key=True)
    project_id: Mapped[str] = mapped_column(ForeignKey("projects.id"), index=True)
    name: Mapped[str]
    description: Mapped[str]
    version: Mapped[int]
    status: Mapped[str]
    created_by: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(index=True)
    updated_at: Mapped[datetime]
    project: Mapped[Project] = relationship(lazy="joined")
    versions: Mapped[list["WorkflowVersion"]] = relationship(
        lazy="selectin", order_by="WorkflowVersion.version", cascade="all, delete-orphan"
    )

    @property
    def config_yaml(self) -> str:
        return self.versions[-1].config_yaml


class WorkflowVersion(Base):
    __tablename__ = "workflow_versions"
    workflow_id: Mapped[str] = mapped_column(ForeignKey("workflows.id"), primary_key=True)
    version: Mapped[int] = mapped_column(primary_key=True)
    config_yaml: Mapped[str]


class AuditEntry(Base):
    __tablename__ = "audit_entries"
    id: Mapped[str] = mapped_column(primary_key=True)
    user_id: Mapped[str]
    action: Mapped[str]
    resource_id: Mapped[str] = mapped_column(index=True)
    created_at: Mapped[datetime]


class WorkflowOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)
    id: str
    project_id: str
    name: str
    description: str
    config_yaml: str
    version: int
    status: str
    created_by: str
    created_at: datetime
    updated_at: datetime


class Page(BaseModel):
    items: list[WorkflowOut]
    total: int
    page: int
    page_size: int


class NewWorkflow(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str
    description: str = ""
    config_yaml: str = ""


class WorkflowChange(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str | None = None
    description: str | None = None


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncIterator[None]:
    async with engine.begin() as connection:
        await connection.run_sync(Base.metadata.create_all)
    yield
    await engine.dispose()


app = FastAPI(lifespan=lifespan)


async def get_database() -> AsyncIterator[AsyncSession]:
    async with sessions() as database:
        yield database


Database = Annotated[AsyncSession, Depends(get_database)]


async def current_user(database: Database, authorization: Annotated[str, Header()]) -> User:
    try:
        claims = jwt.decode(authorization.removeprefix("Bearer "), SECRET, algorithms=["HS256"])
    except jwt.InvalidTokenError as error:
        raise HTTPException(401, "the token is not valid") from error
    session = await database.get(UserSession, claims["sid"])
    if session is None:
        raise HTTPException(401, "the session has ended")
    return session.user


Me = Annotated[User, Depends(current_user)]


async def require_role(database: AsyncSession, user: User, project: Project, least: int) -> None:
    role = await database.scalar(
        select(func.max(Grant.role)).where(
            Grant.user_id == user.id, or_(Grant.project_id == project.id, Grant.company_id == project.company_id)
        )
    )
    if role is None or role < least:
        raise HTTPException(403, "your role is too low")


async def find(database: AsyncSession, user: User, id_: str, least: int) -> Workflow:
    workflow = await database.get(Workflow, id_)
    if workflow is None:
        raise HTTPException(404, "no such workflow")
    await require_role(database, user, workflow.project, least)
    return workflow


def note(database: AsyncSession, user: User, action: str, id_: str) -> None:
    database.add(
        AuditEntry(id=str(uuid.uuid4()), user_id=user.id, action=action, resource_id=id_, created_at=utc_now())
    )


def utc_now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)


@app.get("/api/v1/workflows/{id_}")
async def read(id_: str, database: Database, me: Me) -> WorkflowOut:
    return WorkflowOut.model_validate(await find(database, me, id_, 1))


@app.get("/api/v1/workflows")
async def list_all(database: Database, me: Me, page: int = 1, page_size: int = 50) -> Page:
    granted = select(Grant).where(Grant.user_id == me.id).subquery()
    seen = (
        select(Workflow.id)
        .join(Project)
        .join(granted, or_(granted.c.project_id == Project.id, granted.c.company_id == Project.company_id))
        .distinct()
    )
    total = await database.scalar(select(func.count()).select_from(seen.subquery()))
    found = await database.scalars(
        select(Workflow)
        .where(Workflow.id.in_(seen))
        .order_by(Workflow.created_at.desc())
        .limit(page_size)
        .offset((page - 1) * page_size)
    )
    items = [WorkflowOut.model_validate(workflow) for workflow in found]
    return Page(items=items, total=total or 0, page=page, page_size=page_size)


@app.post("/api/v1/projects/{project_id}/workflows", status_code=201)
async def create(project_id: str, body: NewWorkflow, database: Database, me: Me) -> WorkflowOut:
    project = await database.get(Project, project_id)
    if project is None:
        raise HTTPException(404, "no such project")
    await require_role(database, me, project, 2)
    checked(body.config_yaml)
    id_, at = str(uuid.uuid4()), utc_now()
    workflow = Workflow(
        id=id_, project_id=project_id, name=body.name, description=body.description, version=1, status="draft",
        created_by=me.id, created_at=at, updated_at=at,
        versions=[WorkflowVersion(workflow_id=id_, version=1, config_yaml=body.config_yaml)],
    )  # fmt: skip
    database.add(workflow)
    note(database, me, "workflow.create", id_)
    await database.commit()
    return WorkflowOut.model_validate(workflow)


@app.put("/api/v1/workflows/{id_}")
async def update(id_: str, body: WorkflowChange, database: Database, me: Me) -> WorkflowOut:
    workflow = await find(database, me, id_, 2)
    for name, value in body.model_dump(exclude_unset=True).items():
        setattr(workflow, name, value)
    workflow.updated_at = utc_now()
    note(database, me, "workflow.update", id_)
    await database.commit()
    return WorkflowOut.model_validate(workflow)


def checked(text: str) -> Any:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise HTTPException(422, "not YAML") from error
