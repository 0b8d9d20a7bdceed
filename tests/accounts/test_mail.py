"""The reset mail and its way to a real mail server: encrypted where it must be, credentials in nobody else's hands."""

from pathlib import Path
from typing import Any

import pytest

from penstock.accounts import mail
from penstock.settings import Settings, SettingsError, load
from tests.accounts.mail_server import SECRET, USER, certificate_for_localhost, mail_server

pytestmark = pytest.mark.anyio
URL = "https://penstock.example/reset?token=t0ken"


def settings(**overrides: Any) -> Settings:
    return load(environ={}, overrides=overrides).settings


async def send(**overrides: Any) -> None:
    await mail.send_reset(settings(**overrides), "ada@example.com", token="t0ken", url=URL)


@pytest.fixture
def trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """TLS for a mail server whose certificate this machine trusts."""
    context, certificate = certificate_for_localhost(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    return context


async def test_the_mail_says_who_what_and_where() -> None:
    async with mail_server() as server:
        await send(
            smtp_server=server.address,
            email_from="The Shop <shop@example.org>",
            forgot_password_subject="Neues Paßwort",
            forgot_password_body="Grüße!\n${URL} or by hand: ${TOKEN}",
        )
        (arrived,) = server.mails
        assert arrived["From"] == "The Shop <shop@example.org>"
        assert arrived["To"] == "ada@example.com"
        assert server.recipients == ["ada@example.com"]
        assert arrived["Subject"] == "Neues Paßwort"
        assert arrived["Auto-Submitted"] == "auto-generated"
        assert arrived["Message-ID"].endswith("@example.org>")
        assert arrived["Date"]
        assert arrived.get_content().splitlines() == ["Grüße!", f"{URL} or by hand: t0ken"]
        assert server.encrypted == [False]


async def test_the_default_body_leads_to_the_page() -> None:
    async with mail_server() as server:
        await send(smtp_server=server.address)
        assert server.mails[0]["Subject"] == "Password reset"
        assert server.mails[0].get_content().strip() == f"To reset your password, go to {URL}"


def test_a_body_without_a_way_to_reset_stops_the_start() -> None:
    with pytest.raises(SettingsError, match="forgot_password_body"):
        settings(forgot_password_body="You forgot your password.")


async def test_starttls_is_used_when_offered_and_required_when_asked_for(trusted: Any) -> None:
    async with mail_server(starttls=trusted) as server:
        await send(smtp_server=server.address)
        await send(smtp_server=server.address, smtp_tls="starttls")
        assert server.encrypted == [True, True]
    async with mail_server() as bare:
        with pytest.raises(mail.MailError):
            await send(smtp_server=bare.address, smtp_tls="starttls")
        assert not bare.mails


async def test_tls_from_the_first_byte(trusted: Any) -> None:
    async with mail_server(tls=trusted) as server:
        await send(smtp_server=server.address, smtp_tls="tls")
        assert server.encrypted == [True]


async def test_a_certificate_that_nobody_vouches_for_is_refused(tmp_path: Path) -> None:
    context, _ = certificate_for_localhost(tmp_path)
    async with mail_server(starttls=context) as starttls, mail_server(tls=context) as tls:
        for server, mode in ((starttls, "auto"), (starttls, "starttls"), (tls, "tls")):
            with pytest.raises(mail.MailError, match=r"(?i)certificate"):
                await send(smtp_server=server.address, smtp_tls=mode, smtp_user=USER, smtp_password=SECRET)
            assert not server.mails
            assert not server.users


async def test_a_certificate_for_another_host_is_refused(trusted: Any) -> None:
    async with mail_server(tls=trusted) as server:
        with pytest.raises(mail.MailError, match=r"(?i)certificate"):
            # The same machine, under an address that the certificate does not name.
            await send(smtp_server=f"[::ffff:127.0.0.1]:{server.port}", smtp_tls="tls")


async def test_credentials_are_shown_over_tls(trusted: Any) -> None:
    known = {"smtp_user": USER, "smtp_password": SECRET}
    async with mail_server(starttls=trusted, credentials=True) as starttls:
        await send(smtp_server=starttls.address, **known)
        assert starttls.users == [f"{USER} over TLS"]
    async with mail_server(tls=trusted, credentials=True) as tls:
        await send(smtp_server=tls.address, smtp_tls="tls", **known)
        assert tls.users == [f"{USER} over TLS"]
        with pytest.raises(mail.MailError, match="535") as refused:
            await send(smtp_server=tls.address, smtp_tls="tls", smtp_user=USER, smtp_password="an old secret")
        assert "an old secret" not in str(refused.value)
        assert len(tls.mails) == 1


async def test_credentials_are_never_sent_in_plain_text_unasked() -> None:
    known = {"smtp_user": USER, "smtp_password": SECRET}
    async with mail_server(credentials=True) as server:
        for mode in ("auto", "starttls"):
            with pytest.raises(mail.MailError):
                await send(smtp_server=server.address, smtp_tls=mode, **known)
        assert server.users == []
        await send(smtp_server=server.address, smtp_tls="none", **known)
        assert server.users == [f"{USER} over plain text"]


@pytest.mark.parametrize(
    ("where", "answer", "hopeless"),
    [
        ("refuse_recipients", "550 no such mailbox", True),
        ("refuse_recipients", "450 come back later", False),
        ("refuse_mails", "554 we do not want this", True),
        ("refuse_mails", "451 come back later", False),
    ],
)
async def test_what_a_server_will_never_take_is_told_from_what_it_takes_later(
    where: str, answer: str, hopeless: bool
) -> None:
    async with mail_server() as server:
        setattr(server, where, answer)
        with pytest.raises(mail.MailError) as refused:
            await send(smtp_server=server.address)
        assert isinstance(refused.value, mail.Refused) is hopeless


async def test_without_a_mail_server_the_error_says_what_to_set() -> None:
    with pytest.raises(mail.MailError, match="smtp_server"):
        await send()
