"""`penstock doctor` talks to a real mail server, and says what it heard."""

import ssl
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.cli import doctor_mail
from penstock.cli.findings import Check, Finding
from penstock.settings import Loaded
from tests.accounts.mail_server import SECRET, USER, certificate_for_localhost, mail_server

pytestmark = pytest.mark.anyio
Load = Callable[..., Loaded]
FROM = "Shop <no-reply@shop.example>"


async def findings(check: Check, loaded: Loaded) -> list[Finding]:
    return [finding async for finding in check(loaded)]


@pytest.fixture
def tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
    """A mail server's certificate that this machine trusts."""
    context, certificate = certificate_for_localhost(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    return context


async def test_without_a_mail_server_it_says_what_breaks(loaded: Load) -> None:
    (found,) = await findings(doctor_mail.mail, loaded())
    assert (found.level, "forgot a password" in found.says) == ("warn", True)


async def test_a_hook_sends_the_mail(loaded: Load) -> None:
    (found,) = await findings(doctor_mail.mail, loaded(hooks={"send_email": "json:dumps"}))
    assert found.level == "ok"


async def test_a_server_that_lets_us_in(loaded: Load) -> None:
    async with mail_server() as server:
        (found,) = await findings(doctor_mail.mail, loaded(smtp_server=server.address, email_from=FROM))
        assert (found.level, server.mails) == ("ok", [])


async def test_the_login_is_tried(tls: ssl.SSLContext, loaded: Load) -> None:
    async with mail_server(starttls=tls, credentials=True) as server:
        settings = {"smtp_server": server.address, "smtp_user": USER, "email_from": FROM}
        (good,) = await findings(doctor_mail.mail, loaded(**settings, smtp_password=SECRET))
        (bad,) = await findings(doctor_mail.mail, loaded(**settings, smtp_password="wrong secret"))
        assert set(server.users) == {f"{USER} over TLS"}
    assert (good.level, "encrypted" in good.says) == ("ok", True)
    assert (bad.level, "smtp_password" in bad.todo) == ("fail", True)
    assert "wrong secret" not in bad.says


async def test_tls_from_the_first_byte(tls: ssl.SSLContext, loaded: Load) -> None:
    async with mail_server(tls=tls) as server:
        settings = loaded(smtp_server=server.address, smtp_tls="tls", email_from=FROM)
        (found,) = await findings(doctor_mail.mail, settings)
    assert (found.level, "encrypted" in found.says) == ("ok", True)


async def test_a_certificate_that_nobody_vouches_for(tmp_path: Path, loaded: Load) -> None:
    context, _ = certificate_for_localhost(tmp_path)
    async with mail_server(tls=context) as server:
        settings = loaded(smtp_server=server.address, smtp_tls="tls", email_from=FROM)
        (found,) = await findings(doctor_mail.mail, settings)
    assert (found.level, "certificate" in found.says.lower()) == ("fail", True)


async def test_a_server_that_is_not_there(loaded: Load) -> None:
    (found,) = await findings(doctor_mail.mail, loaded(smtp_server="127.0.0.1:1", email_from=FROM))
    assert (found.level, "smtp_server" in found.todo) == ("fail", True)


async def test_a_server_elsewhere_without_encryption(loaded: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor_mail, "is_loopback", lambda _: False)
    async with mail_server() as server:
        (found,) = await findings(doctor_mail.mail, loaded(smtp_server=server.address, email_from=FROM))
    assert (found.level, "not encrypted" in found.says) == ("warn", True)


async def test_a_sender_that_other_servers_refuse(loaded: Load) -> None:
    async with mail_server() as server:
        found = await findings(doctor_mail.mail, loaded(smtp_server=server.address))
    assert [finding.level for finding in found] == ["ok", "warn"]
    assert "email_from" in found[1].todo


async def test_a_test_mail_is_sent_on_request(loaded: Load) -> None:
    async with mail_server() as server:
        check = doctor_mail.trial_mail_to("ada@example.com")
        (found,) = await findings(check, loaded(smtp_server=server.address, email_from=FROM))
        mail = await server.next()
    assert found.level == "ok"
    assert (mail["To"], mail["From"], server.recipients) == ("ada@example.com", FROM, ["ada@example.com"])


async def test_a_test_mail_that_is_refused(loaded: Load) -> None:
    async with mail_server() as server:
        server.refuse_recipients = "550 no such person"
        check = doctor_mail.trial_mail_to("nobody@example.com")
        (found,) = await findings(check, loaded(smtp_server=server.address, email_from=FROM))
    assert (found.level, "no such person" in found.says) == ("fail", True)


async def test_a_test_mail_needs_a_server(loaded: Load) -> None:
    (found,) = await findings(doctor_mail.trial_mail_to("ada@example.com"), loaded())
    assert found.level == "fail"
