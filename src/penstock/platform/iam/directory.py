"""A company's LDAP directory, asked in threads of its own: a directory that dawdles holds up nobody else's work."""

import asyncio
import secrets
import ssl
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar
from urllib.parse import urlsplit
from uuid import UUID

import httpcore
import ldap3
from ldap3.core.exceptions import (
    LDAPException,
    LDAPInvalidCredentialsResult,
    LDAPInvalidDnError,
    LDAPNoSuchObjectResult,
    LDAPOperationResult,
    LDAPSizeLimitExceededResult,
    LDAPSocketOpenError,
    LDAPStartTLSError,
)
from ldap3.utils.conv import escape_filter_chars

from penstock.egress import Egress
from penstock.platform.iam.config import Ldap
from penstock.platform.iam.person import Person, usable_email
from penstock.platform.iam.probe import ProbeFailed

T = TypeVar("T")
Connect = Callable[[str, str], ldap3.Connection]

SECONDS = 9.0
_STEP_SECONDS = 4
_MOST_GROUPS = 1000
_threads = ThreadPoolExecutor(8, thread_name_prefix="ldap")


class _Tls(ldap3.Tls):  # type: ignore[misc]
    """TLS as Python's own library does it, certificate and host name checked. ldap3's checks the name we connect to,
    which is an address here, and turns the reason of a refusal into text."""

    def __init__(self, host: str, ca_certificate: str) -> None:
        super().__init__(validate=ssl.CERT_REQUIRED)
        self._host = host
        self._context = ssl.create_default_context(cadata=ca_certificate or None)
        self.failure: ssl.SSLError | None = None

    def wrap_socket(self, connection: Any, do_handshake: bool = False) -> None:
        connection.socket.settimeout(_STEP_SECONDS)
        try:
            connection.socket = self._context.wrap_socket(connection.socket, server_hostname=self._host)
        except ssl.SSLError as error:
            self.failure = error
            raise


async def call(egress: Egress, known: Ldap, work: Callable[[Connect], T]) -> T:
    """Do `work` with a way to bind to the directory. Raises ProbeFailed with a sentence when that does not succeed."""
    parts = urlsplit(known.url)
    host, port = parts.hostname or "", parts.port or (636 if parts.scheme == "ldaps" else 389)
    opened: list[ldap3.Connection] = []
    tls = _Tls(host, known.ca_certificate)
    try:
        async with asyncio.timeout(SECONDS):
            servers = [
                ldap3.Server(
                    address,
                    port=port,
                    use_ssl=parts.scheme == "ldaps",
                    tls=tls,
                    get_info=ldap3.NONE,
                    connect_timeout=_STEP_SECONDS,
                    allowed_referral_hosts=[],
                )
                for address in await egress.addresses(host, port)
            ]
            connect = partial(_connect, servers, opened, start_tls=known.start_tls and parts.scheme == "ldap")
            return await asyncio.get_running_loop().run_in_executor(_threads, work, connect)
    except httpcore.ConnectError as error:
        raise ProbeFailed(str(error)) from error
    except (LDAPException, OSError) as error:
        raise ProbeFailed(_explain(error, tls.failure, f"{host}:{port}")) from error
    finally:
        # Also ends a thread that is still waiting for a directory which sends a byte now and then.
        for connection in opened:
            _close(connection)


def _connect(
    servers: list[ldap3.Server], opened: list[ldap3.Connection], dn: str, password: str, *, start_tls: bool
) -> ldap3.Connection:
    """By the first address that listens: a name often has one of IPv6 that nobody serves."""
    for server in servers[:-1]:
        with suppress(LDAPSocketOpenError):
            return _bound(server, opened, dn, password, start_tls=start_tls)
    return _bound(servers[-1], opened, dn, password, start_tls=start_tls)


def _bound(
    server: ldap3.Server, opened: list[ldap3.Connection], dn: str, password: str, *, start_tls: bool
) -> ldap3.Connection:
    connection = ldap3.Connection(
        server,
        user=dn or None,
        password=password or None,
        authentication=ldap3.SIMPLE if dn else ldap3.ANONYMOUS,
        # A referral leads to another host, past the egress policy and with our password.
        auto_referrals=False,
        auto_bind=ldap3.AUTO_BIND_NONE,
        receive_timeout=_STEP_SECONDS,
        raise_exceptions=True,
        check_names=False,
        read_only=True,
    )
    opened.append(connection)
    connection.open(read_server_info=False)
    if start_tls:
        try:
            connection.start_tls(read_server_info=False)
        except LDAPOperationResult as error:
            raise LDAPStartTLSError(str(error)) from error
    connection.bind(read_server_info=False)
    return connection


def _close(connection: ldap3.Connection) -> None:
    with suppress(OSError, AttributeError):
        connection.socket.shutdown(2)
    with suppress(OSError, AttributeError):
        connection.socket.close()


def look(connect: Connect, known: Ldap) -> str:
    """Bind with the configured name, and find the configured base."""
    connection = connect(known.bind_dn, known.bind_password)
    connection.search(known.base_dn, "(objectClass=*)", ldap3.BASE, attributes=[ldap3.NO_ATTRIBUTES], time_limit=5)
    if not _entries(connection):
        raise ProbeFailed(f"the directory shows nothing at {known.base_dn}")
    return known.base_dn


def sign_in(connect: Connect, known: Ldap, username: str, password: str) -> Person | None:
    """Who has this name, if the password is theirs.

    An empty password would be an "unauthenticated bind", which directories accept for any name.
    """
    if not username.strip() or not password:
        return None
    service = connect(known.bind_dn, known.bind_password)
    entry = _find(service, known, username)
    # Nobody of that name: still bind, as it takes as long and the answer says the same.
    dn = entry["dn"] if entry is not None else f"cn={secrets.token_hex(8)},{known.base_dn}"
    try:
        connect(dn, password)
    except (LDAPInvalidCredentialsResult, LDAPNoSuchObjectResult, LDAPInvalidDnError):
        return None
    if entry is None or not entry["dn"]:
        return None
    said = {name.lower(): values for name, values in entry["raw_attributes"].items()}
    email = next((email for value in said.get("mail", []) if (email := usable_email(_text(value)))), "")
    names = [_text(value) for value in (*said.get("displayname", []), *said.get("cn", []))]
    return Person(
        authority=known.url,
        subject=_subject(entry["dn"], said),
        email=email,
        email_verified=bool(email),
        name=next(iter(names), "")[:200],
        groups=[*map(_text, said.get("memberof", [])), *_groups(service, known, entry["dn"], username)],
        aliases=[entry["dn"]],
    )


def _find(connection: ldap3.Connection, known: Ldap, username: str) -> dict[str, Any] | None:
    """The one entry of this name. Where there are two, guessing would sign in the wrong person."""
    query = known.user_filter.replace("{username}", escape_filter_chars(username))
    wanted = ["mail", "cn", "displayName", "memberOf", "entryUUID", "objectGUID"]
    try:
        connection.search(known.base_dn, query, ldap3.SUBTREE, attributes=wanted, size_limit=2, time_limit=5)
    except LDAPSizeLimitExceededResult:
        return None
    entries = _entries(connection)
    return entries[0] if len(entries) == 1 else None


def _groups(connection: ldap3.Connection, known: Ldap, dn: str, username: str) -> list[str]:
    if not known.group_filter:
        return []
    query = known.group_filter.replace("{dn}", escape_filter_chars(dn)).replace(
        "{username}", escape_filter_chars(username)
    )
    with suppress(LDAPSizeLimitExceededResult):
        connection.search(known.base_dn, query, ldap3.SUBTREE, attributes=["cn"], size_limit=_MOST_GROUPS, time_limit=5)
    found = []
    for entry in _entries(connection):
        found.append(entry["dn"])
        said = {name.lower(): values for name, values in entry["raw_attributes"].items()}
        found.extend(map(_text, said.get("cn", [])))
    return found


def _entries(connection: ldap3.Connection) -> list[dict[str, Any]]:
    return [entry for entry in connection.response or [] if entry.get("type") == "searchResEntry"]


def _subject(dn: str, said: dict[str, list[bytes]]) -> str:
    """The id that directories give to an entry: a DN is given away again when its holder has left."""
    if uuid := said.get("entryuuid"):
        return _text(uuid[0])
    guid = said.get("objectguid")
    return str(UUID(bytes_le=guid[0])) if guid and len(guid[0]) == 16 else dn


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace").replace("\0", "")


def _explain(error: Exception, failure: ssl.SSLError | None, host: str) -> str:
    if isinstance(failure, ssl.SSLCertVerificationError):
        return f"the certificate of {host} was not accepted: {failure.verify_message}"
    if failure is not None:
        return f"{host} does not speak TLS as we do"
    match error:
        case LDAPInvalidCredentialsResult():
            return "the directory does not accept bind_dn or bind_password"
        case LDAPNoSuchObjectResult():
            return "the directory has no such base_dn"
        case LDAPStartTLSError():
            return f"{host} does not offer StartTLS; use ldaps://, or set start_tls to false on a network you trust"
        case TimeoutError():
            return f"{host} did not answer in time"
        case LDAPSocketOpenError() if "refused" in str(error):
            return f"{host} refused the connection"
        case LDAPSocketOpenError() if "timed out" in str(error):
            return f"{host} did not answer in time"
        case LDAPException() if result := getattr(error, "description", None):
            return f"the directory refused: {result}"
        case _:
            return f"{host} could not be reached, or broke off"
