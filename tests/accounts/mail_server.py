"""A real mail server on a free port: plain, STARTTLS or TLS, with and without credentials, and in a bad mood."""

import asyncio
import datetime
import ipaddress
import ssl
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

USER, SECRET = "penstock", "mail secret"


class MailServer:
    """What arrived, and in which way."""

    def __init__(self) -> None:
        self.mails: list[EmailMessage] = []
        self.recipients: list[str] = []
        self.encrypted: list[bool] = []
        self.users: list[str] = []
        self.refuse_recipients = ""
        self.refuse_mails = ""
        self.refused = asyncio.Event()
        self.port = 0
        self._arrived: asyncio.Queue[EmailMessage] = asyncio.Queue()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    async def next(self) -> EmailMessage:
        """The next mail that arrives."""
        return await asyncio.wait_for(self._arrived.get(), 60)

    async def handle_RCPT(  # noqa: N802 - aiosmtpd's name
        self, _server: SMTP, _session: Any, envelope: Any, address: str, _options: list[str]
    ) -> str:
        if self.refuse_recipients:
            self.refused.set()
            return self.refuse_recipients
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, _session: Any, envelope: Any) -> str:  # noqa: N802
        if self.refuse_mails:
            self.refused.set()
            return self.refuse_mails
        mail = message_from_bytes(envelope.content, policy=policy.default)
        self.mails.append(mail)
        self.recipients += envelope.rcpt_tos
        self.encrypted.append(_encrypted(server))
        self._arrived.put_nowait(mail)
        return "250 OK"

    def authenticate(self, server: SMTP, _session: Any, _envelope: Any, _mechanism: str, data: Any) -> AuthResult:
        assert isinstance(data, LoginPassword)
        self.users.append(f"{data.login.decode()} over {'TLS' if _encrypted(server) else 'plain text'}")
        known = (data.login, data.password) == (USER.encode(), SECRET.encode())
        return AuthResult(success=known, handled=False)


def _encrypted(server: SMTP) -> bool:
    return server.transport is not None and server.transport.get_extra_info("sslcontext") is not None


@asynccontextmanager
async def mail_server(
    *,
    starttls: ssl.SSLContext | None = None,
    tls: ssl.SSLContext | None = None,
    credentials: bool = False,
    port: int = 0,
) -> AsyncIterator[MailServer]:
    server = MailServer()
    wants: dict[str, Any] = {}
    if credentials:
        # A careless server: it would take a password in plain text. It is we who must not send one.
        wants = {"authenticator": server.authenticate, "auth_required": True, "auth_require_tls": False}

    def connection() -> SMTP:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the carelessness
            return SMTP(server, hostname="localhost", tls_context=starttls, **wants)

    listening = await asyncio.get_running_loop().create_server(connection, "127.0.0.1", port, ssl=tls)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listening.close()


def certificate_for_localhost(folder: Path) -> tuple[ssl.SSLContext, Path]:
    """A server's TLS with a certificate of its own, and the file to trust it by."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    today = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(today - datetime.timedelta(days=1))
        .not_valid_after(today + datetime.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]),
            critical=False,
        )
        .sign(key, hashes.SHA256())
    )
    public, private = folder / "certificate.pem", folder / "key.pem"
    public.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(public, private)
    return context, public
