"""Checks of mail: a real conversation with the mail server, up to the login, and on request a mail."""

from collections.abc import AsyncIterator
from email.message import EmailMessage
from email.utils import formatdate, make_msgid, parseaddr

import aiosmtplib

from penstock.accounts.mail import connection, login
from penstock.cli.findings import Check, Finding, fail, ok, warn
from penstock.cli.serve import is_loopback
from penstock.settings import Loaded, Settings

_TIMEOUT = 10.0


async def mail(loaded: Loaded) -> AsyncIterator[Finding]:
    settings = loaded.settings
    if "send_email" in settings.hooks:
        yield ok("mail", "sent by the hook send_email")
        return
    if not settings.smtp_server:
        yield warn(
            "mail",
            "no mail server: nobody who forgot a password gets a reset mail",
            "Set smtp_server (host:port), and smtp_user and smtp_password if it wants them.",
        )
        return
    async for finding in _conversation(settings, None):
        yield finding
    domain = parseaddr(settings.email_from)[1].rpartition("@")[2]
    if domain in {"", "localhost"}:
        yield warn(
            "mail",
            f"mail comes from {settings.email_from}, which other mail servers refuse",
            "Set email_from to an address of your domain, e.g. 'Shop <no-reply@shop.example>'.",
        )


def trial_mail_to(recipient: str) -> Check:
    async def trial_mail(loaded: Loaded) -> AsyncIterator[Finding]:
        if not loaded.settings.smtp_server:
            yield fail("mail", "a test mail cannot be sent: no mail server", "Set smtp_server (host:port).")
            return
        async for finding in _conversation(loaded.settings, _test_message(loaded.settings, recipient)):
            yield finding

    return trial_mail


def _test_message(settings: Settings, recipient: str) -> EmailMessage:
    message = EmailMessage()
    message["From"] = settings.email_from
    message["To"] = recipient
    message["Subject"] = "Penstock can send mail"
    message["Date"] = formatdate()
    message["Message-ID"] = make_msgid(domain=parseaddr(settings.email_from)[1].rpartition("@")[2] or "localhost")
    message.set_content("This is the test mail that `penstock doctor --send-test` was asked for.\n")
    return message


async def _conversation(settings: Settings, message: EmailMessage | None) -> AsyncIterator[Finding]:
    server, step = settings.smtp_server, "connect"
    client = connection(settings)
    client.timeout = _TIMEOUT
    try:
        async with client:
            encrypted = client.get_transport_info("sslcontext") is not None
            step = "login"
            await login(client, settings)
            if message is not None:
                step = "send"
                await client.send_message(message)
    except aiosmtplib.SMTPAuthenticationError as error:
        yield fail("mail", f"{server} refused the login: {error.message}", "Check smtp_user and smtp_password.")
        return
    except (aiosmtplib.SMTPException, OSError, ValueError) as error:
        yield fail("mail", f"{server}: {str(error) or type(error).__name__}", _ADVICE[step])
        return
    if message is not None:
        yield ok("mail", f"{server} took a test mail for {message['To']}; see whether it arrives")
        return
    says = f"{server} lets us in{' as ' + settings.smtp_user if settings.smtp_user else ''}"
    if encrypted or is_loopback(server.rpartition(":")[0].strip("[]")):
        yield ok("mail", f"{says}{', encrypted' if encrypted else ''}")
    else:
        yield warn("mail", f"{says}, but not encrypted", "Set smtp_tls to starttls or tls: reset links are secrets.")


_ADVICE = {
    "connect": "Check smtp_server (host:port) and smtp_tls, and that this machine may reach it.",
    "login": "Check smtp_user and smtp_password, and that the server offers a login.",
    "send": "The server refused the mail: check email_from and the recipient.",
}
