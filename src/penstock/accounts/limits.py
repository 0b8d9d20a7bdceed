"""How often one may try: counted per account and per client address, in memory or in Redis."""

import time
from ipaddress import IPv6Address, ip_address, ip_network

from limits import RateLimitItem, RateLimitItemPerHour

from penstock.accounts.windows import Guarded, MemoryWindows, RedisWindows, Windows
from penstock.problems import RateLimited
from penstock.settings import Settings


class Limits:
    def __init__(self, settings: Settings) -> None:
        self._windows = _windows(settings.redis_url.reveal())
        self._failures = RateLimitItemPerHour(settings.limit_failed_logins, namespace="failed-login")
        self._resets = RateLimitItemPerHour(settings.limit_forgot_password, namespace="forgot-password")
        self._creates = RateLimitItemPerHour(settings.limit_create, namespace="create")

    async def require_login(self, email: str, address: str) -> None:
        """Refuse a guess at a password when too many went wrong, for this account or from this address."""
        for key in _keys(email, address):
            if not await self._windows.test(self._failures, *key):
                raise await self._refusal(self._failures, key, "too many failed sign-ins")

    async def failed_login(self, email: str, address: str) -> None:
        for key in _keys(email, address):
            await self._windows.hit(self._failures, *key)

    async def succeeded_login(self, email: str) -> None:
        """Clears the account's count, never the address's: one account of their own must not let a guesser go on."""
        await self._windows.clear(self._failures, "account", email)

    async def hit_forgot_password(self, email: str, address: str) -> None:
        # The address first: what is refused for it must not use up what the account's owner may ask for.
        for key in reversed(_keys(email, address)):
            await self._hit(self._resets, key, "too many requests for a reset mail")

    async def hit_create(self, address: str) -> None:
        await self._hit(self._creates, ("address", _network(address)), "too many new accounts from this address")

    async def hit_address(self, limit: RateLimitItem, address: str, what: str) -> None:
        """For the limits of other surfaces (the API's requests per minute)."""
        await self._hit(limit, ("address", _network(address)), what)

    async def close(self) -> None:
        await self._windows.close()

    async def _hit(self, limit: RateLimitItem, key: tuple[str, str], what: str) -> None:
        if not await self._windows.hit(limit, *key):
            raise await self._refusal(limit, key, what)

    async def _refusal(self, limit: RateLimitItem, key: tuple[str, str], what: str) -> RateLimited:
        wait = max(1, int(await self._windows.free_at(limit, *key) - time.time()) + 1)
        return RateLimited(f"{what}; try again in {_human(wait)}", retry_after=wait)


def _windows(redis_url: str) -> Windows:
    return Guarded(RedisWindows(redis_url)) if redis_url else MemoryWindows()


def _keys(email: str, address: str) -> tuple[tuple[str, str], ...]:
    return ("account", email), ("address", _network(address))


def _network(address: str) -> str:
    """Whoever has one IPv6 address has the other 2**64 of its network too."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, IPv6Address):
        return str(parsed.ipv4_mapped or ip_network((parsed, 64), strict=False))
    return str(parsed)


def _human(seconds: int) -> str:
    minutes = -(-seconds // 60)
    return f"{seconds} seconds" if seconds < 90 else f"{minutes} minutes"
