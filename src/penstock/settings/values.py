"""What a setting's value can be beside text, numbers and tables: a secret, a duration, networks."""

import re
from ipaddress import IPv4Network, IPv6Network, ip_network


class SettingsError(Exception):
    """A setting whose value cannot be used. The message names it and says what was expected."""


class Secret:
    """A string that shows itself to nobody by accident: not in a log, a traceback or `penstock config`."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        return self._value

    def __bool__(self) -> bool:
        return bool(self._value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __repr__(self) -> str:
        return "********" if self._value else "(none)"


class Duration(int):
    """Seconds, written as `45s`, `15m`, `24h`, `7d` or a bare number of seconds."""

    _UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}  # noqa: RUF012

    @classmethod
    def parse(cls, text: str) -> "Duration":
        match = re.fullmatch(r"(\d{1,10})\s*([smhd]?)", text.strip())
        seconds = int(match[1]) * cls._UNITS[match[2]] if match else -1
        # Times are 64-bit microseconds: what is added to them must stay far below.
        if not 0 <= seconds <= 100 * 365 * 86400:
            raise ValueError("not a duration")
        return cls(seconds)

    def __str__(self) -> str:
        for unit, seconds in (("d", 86400), ("h", 3600), ("m", 60)):
            if self and self % seconds == 0:
                return f"{self // seconds}{unit}"
        return f"{int(self)}s"

    __repr__ = __str__


Network = IPv4Network | IPv6Network


class TrustedProxies(tuple[Network, ...]):
    """Networks whose forwarding headers are believed."""

    __slots__ = ()

    @classmethod
    def parse(cls, values: list[str]) -> "TrustedProxies":
        return cls(ip_network(value, strict=False) for value in values)

    def __repr__(self) -> str:
        return ", ".join(map(str, self)) or "(none)"
