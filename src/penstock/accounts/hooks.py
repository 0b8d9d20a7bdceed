"""What a deployment may put in our place: Python callables, sync or async, given to the app or by import path."""

import importlib
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import msgspec

from penstock.settings import SettingsError
from penstock.storage import Transaction

T = TypeVar("T")
UserInfoHook = Callable[[Transaction, int, bool], Any]
AuthEventHook = Callable[[Transaction, str, int, Any], Any]


class Hooks(msgspec.Struct, frozen=True, kw_only=True):
    """
    user_info(tx, userid, new_account) -> the object that replaces user-info
    on_auth_event(tx, action, userid, info): inside the operation's transaction; raising undoes the operation
    hash_password(password) -> str, compare_password(password, hash) -> bool
    send_email(email, url): sends the reset mail; raising means "try again later"
    saml_provider_for(email) -> the entity id of a registered identity provider, or "" for none
    """

    user_info: UserInfoHook | None = None
    on_auth_event: AuthEventHook | None = None
    hash_password: Callable[[str], str | Awaitable[str]] | None = None
    compare_password: Callable[[str, str], bool | Awaitable[bool]] | None = None
    send_email: Callable[[str, str], Any] | None = None
    saml_provider_for: Callable[[str], str | Awaitable[str]] | None = None


def from_settings(paths: dict[Any, str], given: Hooks | None = None) -> Hooks:
    """Hooks named in the settings, with those given in code before them."""
    loaded = {name: _load(f"hooks.{name}", path) for name, path in paths.items()}
    if given is not None:
        loaded |= {name: hook for name, hook in msgspec.structs.asdict(given).items() if hook is not None}
    return Hooks(**loaded)


def _load(setting: str, path: str) -> Callable[..., Any]:
    module, separator, name = path.partition(":")
    if not separator:
        raise SettingsError(f"{setting}: expected module:callable, got {path!r}")
    try:
        hook = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise SettingsError(f"{setting}: cannot import {path!r}: {error}") from error
    if not callable(hook):
        raise SettingsError(f"{setting}: {path!r} is not callable")
    return hook  # type: ignore[no-any-return]


async def result(value: T | Awaitable[T]) -> T:
    """A hook may be async or not."""
    return await value if inspect.isawaitable(value) else value
