"""FastAPI with SQLAlchemy's async ORM (aiosqlite), in the shape of FastAPI Users' database sessions.

As the documentation of these libraries shows it: a session per request as a dependency, relationships loaded with a
join, a pydantic response model, the password checked in the thread pool. Neither held back nor tuned.
"""

import hashlib
import os
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Annotated

from argon2 import PasswordHasher
from argon2.exceptions import VerifyMismatchError
from fastapi import Cookie, Depends, FastAPI, Form, HTTPException, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel
from sqlalchemy import ForeignKey, event, select
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship
from sqlalchemy.pool import ConnectionPoolEntry

LIFETIME = timedelta(days=30)

hasher = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)
engine = create_async_engine(f"sqlite+aiosqlite:///{os.environ['BENCH_DATABASE']}")
sessions = async_sessionmaker(engine, expire_on_commit=False)


@event.listens_for(engine.sync_engine, "connect")
def set_pragmas(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode = WAL")
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.close()


class Base(DeclarativeBase):
    pass


class User(Base):
    __tablename__ = "users"

    id: Mapped[int] = mapped_column(primary_key=True)
    email: Mapped[str] = mapped_column(unique=True)
    password_hash: Mapped[str]
    settings: Mapped[str]
    links: Mapped[list["OAuthLink"]] = relationship(lazy="joined")


class OAuthLink(Base):
    __tablename__ = "oauth_links"

    method: Mapped[str] = mapped_column(primary_key=True)
    foreign_id: Mapped[str] = mapped_column(primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)


class UserSession(Base):
    __tablename__ = "sessions"

    token_hash: Mapped[bytes] = mapped_column(primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    expires_at: Mapped[datetime]
    user: Mapped[User] = relationship(lazy="joined")


class UserInfo(BaseModel):
    userid: int
    email: str
    settings: str
    methods: list[str]
    newAccount: bool = False  # noqa: N815


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


def utc_now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)  # SQLite keeps no time zone


def hash_token(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


def info_of(user: User) -> UserInfo:
    return UserInfo(
        userid=user.id, email=user.email, settings=user.settings, methods=[link.method for link in user.links]
    )


def set_session_cookie(response: Response, token: str) -> None:
    response.set_cookie("session", token, max_age=int(LIFETIME.total_seconds()), httponly=True, samesite="lax")


async def current_user(database: Database, response: Response, session: Annotated[str | None, Cookie()] = None) -> User:
    found = await database.scalar(
        select(UserSession).where(
            UserSession.token_hash == hash_token(session or ""), UserSession.expires_at > utc_now()
        )
    )
    if found is None or session is None:
        raise HTTPException(401, "not signed in")
    if found.expires_at - utc_now() < LIFETIME * 29 / 30:
        found.expires_at = utc_now() + LIFETIME
        await database.commit()
        set_session_cookie(response, session)
    return found.user


@app.get("/user/get")
async def get(user: Annotated[User, Depends(current_user)]) -> UserInfo:
    return info_of(user)


@app.post("/user/auth")
async def auth(
    email: Annotated[str, Form()], password: Annotated[str, Form()], database: Database, response: Response
) -> UserInfo:
    user = await database.scalar(select(User).where(User.email == email.lower()))
    if user is None or not await run_in_threadpool(matches, user.password_hash, password):
        raise HTTPException(401, "wrong email or password")
    token = secrets.token_urlsafe(48)
    database.add(UserSession(token_hash=hash_token(token), user_id=user.id, expires_at=utc_now() + LIFETIME))
    await database.commit()
    set_session_cookie(response, token)
    return info_of(user)


def matches(stored: str, password: str) -> bool:
    try:
        return hasher.verify(stored, password)
    except VerifyMismatchError:
        return False
