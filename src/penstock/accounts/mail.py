"""The reset mail itself, and its way to the mail server: plain, STARTTLS or TLS, with and without credentials."""

from email.message import EmailMessage
from email.policy import SMTP as SMTP_POLICY
from email.utils import formatdate, make_msgid, parseaddr
from string import Template

import aiosmtplib

from penstock.settings import Settings

_TIMEOUT = 30


class MailError(Exception):
    """The mail did not leave; it may next time."""


class Refused(MailError):
    """The mail server will never take this mail."""


def reset_message(settings: Settings, email: str, *, token: str, url: str) -> EmailMessage:
    message = EmailMessage(policy=SMTP_POLICY)
    message["From"] = settings.email_from
    message["To"] = email
    message["Subject"] = settings.forgot_password_subject
    message["Date"] = formatdate()
    message["Message-ID"] = make_msgid(domain=parseaddr(settings.email_from)[1].rpartition("@")[2] or "localhost")
    message["Auto-Submitted"] = "auto-generated"
    # Substituted once, side by side: a value that contains `${…}` is not looked at again.
    message.set_content(Template(settings.forgot_password_body).safe_substitute(TOKEN=token, URL=url))
    return message


async def send_reset(settings: Settings, email: str, *, token: str, url: str) -> None:
    if not settings.smtp_server:
        raise MailError("no mail server is configured: set smtp_server, or the hook send_email")
    message = reset_message(settings, email, token=token, url=url)
    client = connection(settings)
    try:
        async with client:
            await login(client, settings)
            await client.send_message(message, recipients=[email])
    except aiosmtplib.SMTPRecipientsRefused as error:
        permanent = all(one.code >= 500 for one in error.recipients)
        raise (Refused if permanent else MailError)(f"the mail server refused the recipient: {error}") from error
    except aiosmtplib.SMTPDataError as error:
        raise (Refused if error.code >= 500 else MailError)(f"the mail server refused the mail: {error}") from error
    except (aiosmtplib.SMTPException, OSError, ValueError) as error:
        raise MailError(f"{settings.smtp_server}: {error}") from error


def connection(settings: Settings) -> aiosmtplib.SMTP:
    host, _, port = settings.smtp_server.rpartition(":")
    mode = settings.smtp_tls
    if mode == "auto" and port == "465":
        mode = "tls"
    # With credentials, STARTTLS is a must: someone in between could hide that it is offered, and read them.
    start_tls = {"starttls": True, "tls": False, "none": False, "auto": True if settings.smtp_user else None}[mode]
    return aiosmtplib.SMTP(
        hostname=host.strip("[]"), port=int(port), timeout=_TIMEOUT, use_tls=mode == "tls", start_tls=start_tls
    )


async def login(client: aiosmtplib.SMTP, settings: Settings) -> None:
    if settings.smtp_user:
        await client.login(settings.smtp_user, settings.smtp_password.reveal())
