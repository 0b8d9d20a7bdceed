"""Hashing and comparing passwords: argon2id at OWASP's parameters, off the event loop, a few at a time.

Each hash takes 19 MiB and tens of milliseconds of a core, so a flood of sign-ins waits in line here, and past a
point is turned away, instead of taking all memory or stalling other requests.
"""

import asyncio
import hmac
import inspect
import os
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import TypeVar

import structlog
from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError, VerifyMismatchError

from penstock.accounts.hooks import Hooks, result
from penstock.problems import FieldError, Invalid, Overloaded, Problem

log = structlog.get_logger()
T = TypeVar("T")
MOST_BYTES = 1024
_MOST_WAITING_PER_SLOT = 50

_argon2 = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)


class Passwords:
    def __init__(self, hooks: Hooks, *, concurrency: int = 0, min_length: int = 8) -> None:
        slots = concurrency or os.cpu_count() or 1
        self._threads = ThreadPoolExecutor(slots, thread_name_prefix="passwords")
        self._slots = asyncio.Semaphore(slots)
        self._most_waiting = slots * _MOST_WAITING_PER_SLOT
        self._waiting = 0
        self._min_length = min_length
        self._hooks = hooks
        self._nobodys: str | None = None

    def check_new(self, password: str) -> str:
        """A password that may be chosen, or `Invalid`. Long ones are refused before anything is computed of them."""
        if not password.strip():
            raise _invalid("a password is required")
        if len(password) < self._min_length:
            raise _invalid(f"the password needs {self._min_length} characters or more")
        if len(password.encode()) > MOST_BYTES:
            raise _invalid(f"the password may have {MOST_BYTES} bytes at most")
        return password

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Wait in line to hash. What must be decided for each guess, one after the other, is decided inside."""
        if self._waiting >= self._most_waiting:
            raise Overloaded("too many sign-ins at once; try again in a moment")
        self._waiting += 1
        try:
            await self._slots.acquire()
        finally:
            self._waiting -= 1
        try:
            yield
        finally:
            self._slots.release()

    async def hash(self, password: str) -> str:
        async with self.slot():
            return await self._hash(password)

    async def compare(self, password: str, stored: str | None) -> bool:
        """Whether it is the password; inside a `slot`. Without a stored hash the work is done all the same:
        the answer must take as long as for an account that exists."""
        possible = len(password.encode()) <= MOST_BYTES
        if not possible:
            password = ""
        if stored is None:
            await self._matches(password, await self._hash_of_nobody())
            return False
        return await self._matches(password, stored) and possible

    async def warm_up(self) -> None:
        await self._hash_of_nobody()

    def outdated(self, stored: str) -> bool:
        """Whether a hash that just matched should be made anew, with today's parameters."""
        if self._hooks.hash_password is not None or self._hooks.compare_password is not None:
            return False
        try:
            return _argon2.check_needs_rehash(stored)
        except InvalidHashError:
            return True

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _hash_of_nobody(self) -> str:
        if self._nobodys is None:
            self._nobodys = await self._hash("nobody's password")
        return self._nobodys

    async def _hash(self, password: str) -> str:
        hook = self._hooks.hash_password
        if hook is None:
            return await self._in_thread(_argon2.hash, password)
        if inspect.iscoroutinefunction(hook):
            return str(await hook(password))
        return await result(await self._in_thread(hook, password))

    async def _matches(self, password: str, stored: str) -> bool:
        try:
            return await self._compare(password, stored)
        except Problem:
            raise
        except Exception as error:
            # Not let through, and not answered otherwise: a hook that fails on the hashes of some accounts, or only
            # on nobody's, would tell which emails have one.
            log.error("comparing a password failed; it counts as wrong", error=type(error).__name__, exc_info=error)
            return False

    async def _compare(self, password: str, stored: str) -> bool:
        hook = self._hooks.compare_password
        if hook is not None:
            if inspect.iscoroutinefunction(hook):
                return bool(await hook(password, stored))
            return bool(await result(await self._in_thread(hook, password, stored)))
        if self._hooks.hash_password is not None:
            return hmac.compare_digest((await self._hash(password)).encode(), stored.encode())
        return await self._in_thread(_verify, stored, password)

    async def _in_thread(self, call: Callable[..., T], *args: str) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, call, *args)


def _verify(stored: str, password: str) -> bool:
    try:
        return _argon2.verify(stored, password)
    except (VerifyMismatchError, VerificationError, InvalidHashError):
        return False


def _invalid(message: str) -> Invalid:
    return Invalid(message, errors=[FieldError("/password", message)])
