"""The floor: the same two routes on Starlette, msgspec and the sqlite3 module, with nothing that a service needs.

No validation, no limits, no request ids, no audit: how fast this machine could do the bare work in one Python process.
"""

import hashlib
import os
import secrets
import sqlite3
import time
from urllib.parse import parse_qs

import msgspec
from argon2 import PasswordHasher
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

LIFETIME = 30 * 24 * 3600
SCHEMA = """
CREATE TABLE IF NOT EXISTS users (
    id INTEGER PRIMARY KEY, email TEXT NOT NULL UNIQUE, password_hash TEXT NOT NULL, settings TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS oauth_links (
    method TEXT, foreign_id TEXT, user_id INTEGER NOT NULL, PRIMARY KEY (method, foreign_id));
CREATE INDEX IF NOT EXISTS oauth_links_user ON oauth_links (user_id);
CREATE TABLE IF NOT EXISTS sessions (
    token_hash BLOB PRIMARY KEY, user_id INTEGER NOT NULL, expires_at INTEGER NOT NULL);
"""
METHODS = "(SELECT group_concat(method) FROM oauth_links WHERE user_id = users.id)"
BY_SESSION = (
    f"SELECT users.id, email, settings, {METHODS} FROM sessions JOIN users ON users.id = user_id "
    "WHERE token_hash = ? AND expires_at > ?"
)
BY_EMAIL = f"SELECT users.id, email, settings, {METHODS}, password_hash FROM users WHERE email = ?"

database = sqlite3.connect(os.environ["BENCH_DATABASE"], isolation_level=None)
database.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;" + SCHEMA)
hasher = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)
encode = msgspec.json.Encoder().encode


class UserInfo(msgspec.Struct):
    userid: int
    email: str
    settings: str
    methods: list[str]
    newAccount: bool = False  # noqa: N815


def hash_token(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


def answer(userid: int, email: str, settings: str, methods: str | None) -> Response:
    info = UserInfo(userid, email, settings, methods.split(",") if methods else [])
    return Response(encode(info), media_type="application/json")


async def get(request: Request) -> Response:
    token = request.cookies.get("session", "")
    row = database.execute(BY_SESSION, (hash_token(token), int(time.time()))).fetchone()
    return answer(*row) if row else Response(status_code=401)


async def auth(request: Request) -> Response:
    form = parse_qs((await request.body()).decode())
    *user, stored = database.execute(BY_EMAIL, (form["email"][0].lower(),)).fetchone()
    await run_in_threadpool(hasher.verify, stored, form["password"][0])
    token = secrets.token_urlsafe(48)
    session = (hash_token(token), user[0], int(time.time()) + LIFETIME)
    database.execute("INSERT INTO sessions VALUES (?, ?, ?)", session)
    response = answer(*user)
    response.set_cookie("session", token, max_age=LIFETIME, httponly=True, samesite="lax")
    return response


app = Starlette(routes=[Route("/user/get", get), Route("/user/auth", auth, methods=["POST"])])
