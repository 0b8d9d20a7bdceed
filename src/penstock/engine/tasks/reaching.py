"""Reaching a host by a protocol other than HTTP: an address that the policy allows, and that takes a connection."""

import asyncio
from contextlib import suppress

from penstock.egress import Egress, EgressDenied, Unresolved
from penstock.engine import faults

CONNECT_SECONDS = 10.0


async def addresses(egress: Egress, host: str, port: int) -> list[str]:
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            return await egress.addresses(host, port)
    except EgressDenied as error:
        raise faults.communication("Address not allowed", str(error), status=403) from error
    except Unresolved as error:
        raise faults.communication("Host not found", f"{error}; check its name") from error
    except TimeoutError:
        raise faults.communication("Host not found", f"the name {host} was not resolved in time") from None


async def listening(host: str, port: int, found: list[str]) -> str:
    """The first that takes a connection: few libraries try them all."""
    reason = "no answer in time"
    for address in found:
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                _, writer = await asyncio.open_connection(address, port)
        except ConnectionRefusedError:
            reason = "the connection was refused; is the service running there?"
        except (OSError, TimeoutError):
            continue
        else:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()
            return address
    raise faults.communication("Not reachable", f"no connection to {host}:{port}: {reason}", status=503)


async def reached(egress: Egress, host: str, port: int) -> str:
    return await listening(host, port, await addresses(egress, host, port))
