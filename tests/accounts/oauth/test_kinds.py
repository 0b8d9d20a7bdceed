"""X, Facebook and GitHub: whom they name, and whose tokens are taken from strangers."""

import hashlib
import hmac
import json
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from penstock.accounts.oauth import Identity, OAuthClient, ProviderDown, Refused
from penstock.settings import Secret

from .forge import CALLBACK
from .stand_in import TOKENS, Serve, basic, come_back, configured, form

pytestmark = pytest.mark.anyio


class TestX:
    ME = "api.x.com/2/users/me"
    TOKEN = "api.x.com/2/oauth2/token"
    USER: dict[str, Any] = {"id": "2244994945", "name": "X Dev", "username": "XDevelopers"}  # noqa: RUF012

    async def test_the_request_uses_pkce_and_asks_for_the_email_only_when_it_is_wanted(self, serve: Serve) -> None:
        service = serve({})
        for use_email, scope in ((False, "users.read tweet.read"), (True, "users.read tweet.read users.email")):
            client = OAuthClient({"peer": configured("x", use_email=use_email)}, http=service.http)
            url, pending = await client.begin("peer", redirect_uri=CALLBACK, next="/")
            query = parse_qs(urlsplit(url).query)
            assert url.startswith("https://x.com/i/oauth2/authorize?")
            assert query["scope"] == [scope]
            assert query["code_challenge_method"] == ["S256"]
            assert "nonce" not in query
            assert pending.nonce == ""

    async def test_a_confirmed_email_is_a_verified_one(self, serve: Serve) -> None:
        service = serve({self.TOKEN: TOKENS, self.ME: {"data": {**self.USER, "confirmed_email": "Dev@X.example"}}})
        client = OAuthClient({"peer": configured("x", use_email=True)}, http=service.http)
        assert await come_back(client) == Identity("peer", "2244994945", "dev@x.example", True, "X Dev")
        assert service.requests[self.ME].url.params["user.fields"] == "confirmed_email"
        assert service.requests[self.ME].headers["authorization"] == "Bearer access"
        assert basic(service.requests[self.TOKEN]) == "1234:hush"
        assert form(service.requests[self.TOKEN]).keys() == {"grant_type", "code", "redirect_uri", "code_verifier"}

    async def test_without_use_email_none_is_taken(self, serve: Serve) -> None:
        service = serve({self.TOKEN: TOKENS, self.ME: {"data": {**self.USER, "confirmed_email": "dev@x.example"}}})
        client = OAuthClient({"peer": configured("x")}, http=service.http)
        assert await come_back(client) == Identity("peer", "2244994945", "", False, "X Dev")
        assert "user.fields" not in service.requests[self.ME].url.params

    async def test_a_public_client_names_itself_in_the_body(self, serve: Serve) -> None:
        service = serve({self.TOKEN: TOKENS, self.ME: {"data": self.USER}})
        client = OAuthClient({"peer": configured("x", client_secret=Secret(""))}, http=service.http)
        await come_back(client)
        assert form(service.requests[self.TOKEN])["client_id"] == "1234"
        assert "authorization" not in service.requests[self.TOKEN].headers

    async def test_a_strangers_token_is_refused_because_nothing_shows_whom_it_was_issued_to(self, serve: Serve) -> None:
        service = serve({self.ME: {"data": self.USER}})
        client = OAuthClient({"peer": configured("x")}, http=service.http)
        with pytest.raises(Refused, match="no way to prove"):
            await client.identify("peer", "access")
        assert not service.requests

    async def test_a_token_is_taken_where_an_introspection_address_is_configured(self, serve: Serve) -> None:
        service = serve({"i.example/": {"active": True, "client_id": "1234"}, self.ME: {"data": self.USER}})
        client = OAuthClient({"peer": configured("x", token_info_url="https://i.example/")}, http=service.http)
        assert (await client.identify("peer", "access")).subject == "2244994945"

    @pytest.mark.parametrize("body", [{}, {"data": None}, {"data": []}, {"data": {}}, {"data": {"id": True}}, []])
    async def test_an_answer_without_a_person_counts_as_down(self, serve: Serve, body: Any) -> None:
        service = serve({self.TOKEN: TOKENS, self.ME: body})
        with pytest.raises(ProviderDown):
            await come_back(OAuthClient({"peer": configured("x")}, http=service.http))


class TestFacebook:
    ME, CHECK, TOKEN = (f"graph.facebook.com/{path}" for path in ("me", "debug_token", "oauth/access_token"))
    USER: dict[str, Any] = {"id": "77", "name": "Fay", "email": "Fay@Face.example"}  # noqa: RUF012
    OURS: dict[str, Any] = {"app_id": "1234", "type": "USER", "is_valid": True, "user_id": "77"}  # noqa: RUF012

    async def test_its_emails_count_as_unverified_unless_the_deployment_trusts_them(self, serve: Serve) -> None:
        service = serve({self.TOKEN: TOKENS, self.ME: self.USER})
        for trust in (False, True):
            client = OAuthClient({"peer": configured("facebook", trust_email=trust)}, http=service.http)
            assert await come_back(client) == Identity("peer", "77", "fay@face.example", trust, "Fay")

    async def test_every_question_bears_the_proof_of_our_secret(self, serve: Serve) -> None:
        service = serve({self.TOKEN: TOKENS, self.ME: self.USER})
        await come_back(OAuthClient({"peer": configured("facebook")}, http=service.http))
        proof = hmac.new(b"hush", b"access", hashlib.sha256).hexdigest()
        assert service.requests[self.ME].url.params["appsecret_proof"] == proof
        assert form(service.requests[self.TOKEN])["client_secret"] == "hush"
        assert "authorization" not in service.requests[self.TOKEN].headers

    @pytest.mark.parametrize("app_id", ["1234", 1234])
    async def test_a_token_that_was_issued_to_us_identifies(self, serve: Serve, app_id: Any) -> None:
        service = serve({self.CHECK: {"data": {**self.OURS, "app_id": app_id}}, self.ME: self.USER})
        client = OAuthClient({"peer": configured("facebook")}, http=service.http)
        assert (await client.identify("peer", "access")).subject == "77"
        assert service.requests[self.CHECK].headers["authorization"] == "Bearer 1234|hush"
        assert service.requests[self.CHECK].url.params["input_token"] == "access"

    @pytest.mark.parametrize(
        "change",
        [
            {"app_id": "5678"}, {"app_id": None}, {"app_id": ["1234"]}, {"is_valid": False}, {"is_valid": "true"},
            {"is_valid": None}, {"type": "PAGE"}, {"user_id": "78"},
        ],
    )  # fmt: skip
    async def test_a_token_of_another_application_is_refused(self, serve: Serve, change: dict[str, Any]) -> None:
        service = serve({self.CHECK: {"data": {**self.OURS, **change}}, self.ME: self.USER})
        with pytest.raises(Refused):
            await OAuthClient({"peer": configured("facebook")}, http=service.http).identify("peer", "access")

    @pytest.mark.parametrize("answer", [{}, {"data": []}, (400, {"error": {"code": 190}}), (403, None)])
    async def test_a_check_that_says_nothing_lets_nobody_in(self, serve: Serve, answer: Any) -> None:
        service = serve({self.CHECK: answer, self.ME: self.USER})
        with pytest.raises(Refused):
            await OAuthClient({"peer": configured("facebook")}, http=service.http).identify("peer", "access")
        assert self.ME not in service.requests

    async def test_without_a_secret_no_token_can_be_checked(self, serve: Serve) -> None:
        service = serve({self.ME: self.USER})
        client = OAuthClient({"peer": configured("facebook", client_secret=Secret(""))}, http=service.http)
        with pytest.raises(Refused, match="client secret"):
            await client.identify("peer", "access")


class TestGithub:
    ME, EMAILS, CHECK = (f"api.github.com/{path}" for path in ("user", "user/emails", "applications/1234/token"))
    TOKEN = "github.com/login/oauth/access_token"
    USER: dict[str, Any] = {"id": 583231, "login": "octocat", "name": None, "email": "shown@git.example"}  # noqa: RUF012
    LIST: list[dict[str, Any]] = [  # noqa: RUF012
        {"email": "old@git.example", "primary": False, "verified": True},
        {"email": "Octo@Git.example", "primary": True, "verified": True},
    ]
    OURS: dict[str, Any] = {"app": {"client_id": "1234"}, "user": {"id": 583231}}  # noqa: RUF012

    async def test_the_primary_verified_email_counts(self, serve: Serve) -> None:
        service = serve({self.TOKEN: TOKENS, self.ME: self.USER, self.EMAILS: self.LIST})
        client = OAuthClient({"peer": configured("github")}, http=service.http)
        assert await come_back(client) == Identity("peer", "583231", "octo@git.example", True, "octocat")
        assert service.requests[self.TOKEN].headers["accept"] == "application/json"

    @pytest.mark.parametrize("verified", [False, "true", 1, None])
    async def test_a_primary_email_that_is_unverified_is_not_replaced_by_another(
        self, serve: Serve, verified: Any
    ) -> None:
        emails = [self.LIST[0], {**self.LIST[1], "verified": verified}]
        service = serve({self.TOKEN: TOKENS, self.ME: self.USER, self.EMAILS: emails})
        identity = await come_back(OAuthClient({"peer": configured("github")}, http=service.http))
        assert (identity.email, identity.email_verified) == ("octo@git.example", False)

    @pytest.mark.parametrize("emails", [(404, None), (403, {}), [], {}, 7, ["x"], [{"primary": True, "email": 7}]])
    async def test_the_email_on_the_profile_is_never_taken(self, serve: Serve, emails: Any) -> None:
        service = serve({self.TOKEN: TOKENS, self.ME: self.USER, self.EMAILS: emails})
        identity = await come_back(OAuthClient({"peer": configured("github")}, http=service.http))
        assert (identity.email, identity.email_verified) == ("", False)

    async def test_a_token_that_was_issued_to_us_identifies(self, serve: Serve) -> None:
        service = serve({self.CHECK: self.OURS, self.ME: self.USER, self.EMAILS: self.LIST})
        client = OAuthClient({"peer": configured("github")}, http=service.http)
        assert (await client.identify("peer", "access")).email == "octo@git.example"
        assert basic(service.requests[self.CHECK]) == "1234:hush"
        assert json.loads(service.requests[self.CHECK].content) == {"access_token": "access"}

    @pytest.mark.parametrize(
        "answer",
        [
            (404, {"message": "Not Found"}), (422, {}), (401, {}), {}, {"app": None}, {"app": {"client_id": 1234}},
            {"app": {"client_id": "5678"}, "user": {"id": 583231}}, {"app": {"client_id": "1234"}, "user": {"id": 1}},
        ],
    )  # fmt: skip
    async def test_a_token_of_another_application_is_refused(self, serve: Serve, answer: Any) -> None:
        service = serve({self.CHECK: answer, self.ME: self.USER, self.EMAILS: self.LIST})
        with pytest.raises(Refused):
            await OAuthClient({"peer": configured("github")}, http=service.http).identify("peer", "access")

    async def test_a_server_of_ones_own_is_asked_everything_and_github_nothing(self, serve: Serve) -> None:
        host = "git.example/api/v3"
        service = serve(
            {
                "git.example/token": TOKENS,
                f"{host}/user": self.USER,
                f"{host}/user/emails": self.LIST,
                f"{host}/applications/1234/token": self.OURS,
            }
        )
        provider = configured(
            "github",
            auth_url="https://git.example/auth",
            token_url="https://git.example/token",
            user_info_url=f"https://{host}/user",
        )
        client = OAuthClient({"peer": provider}, http=service.http)
        await come_back(client)
        await client.identify("peer", "access")
        assert {path.split("/")[0] for path in service.requests} == {"git.example"}

    async def test_the_check_can_be_moved(self, serve: Serve) -> None:
        service = serve({"c.example/1234/x": self.OURS, self.ME: self.USER, self.EMAILS: self.LIST})
        provider = configured("github", token_info_url="https://c.example/{client_id}/x")
        assert (await OAuthClient({"peer": provider}, http=service.http).identify("peer", "access")).subject == "583231"
