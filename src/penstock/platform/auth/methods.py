"""GET /auth/methods: how one can sign in here, for a page that asks. By an email's domain, never by its account."""

from typing import Any
from urllib.parse import urlencode

from limits import RateLimitItemPerMinute
from litestar import Request, get
from msgspec import Struct
from sqlalchemy import bindparam, select

from penstock.accounts import emails, saml_registry
from penstock.http.answers import Answer, call_of, json
from penstock.http.openapi import Fields, answer, problems, query
from penstock.platform.access import guard
from penstock.platform.iam.types import TakesPasswords
from penstock.platform.paging import query_of
from penstock.platform.parts import Parts, parts_of
from penstock.platform.texts import invalid
from penstock.storage import Statement
from penstock.storage.platform_tables import company_domains, iam_providers

Req = Request[Any, Any, Any]
_EMAIL: Fields = {"email": ("ann@example.com", "Whose company's providers are wanted, too.")}
_EACH_MINUTE = RateLimitItemPerMinute(60, namespace="auth-methods")
_BROWSER = ("oidc", "saml")
_OF_DOMAIN = Statement(
    select(iam_providers.c.id, iam_providers.c.name, iam_providers.c.provider_type)
    .join(company_domains, company_domains.c.company_id == iam_providers.c.company_id)
    .where(company_domains.c.domain == bindparam("domain"), iam_providers.c.enabled.is_(True))
    .order_by(iam_providers.c.created_at, iam_providers.c.id)
    .limit(50)
)


class Social(Struct, frozen=True):
    """A provider that everybody may use: the browser goes to `url`."""

    name: str
    kind: str
    url: str


class CompanyMethod(Struct, frozen=True):
    """A provider of the company that the email belongs to. The browser goes to `url`; or, where `takes_password`, a
    user name and a password are sent there as JSON. Where it is `required`, nothing else opens the account."""

    name: str
    kind: str
    url: str
    takes_password: bool
    required: bool


class Methods(Struct, frozen=True):
    password: bool
    providers: list[Social]
    companies: list[CompanyMethod]


_EXAMPLE = {
    "password": True,
    "providers": [{"name": "provider_b", "kind": "google", "url": "/user/oauth/login/provider_b"}],
    "companies": [],
}


@get(
    "/auth/methods",
    before_request=guard,
    tags=["sign-in"],
    summary="How one can sign in here",
    description="With an email, also through which providers its company signs in. Only the domain counts: whether "
    "there is such an account, nobody learns here. Each `url` is a path on this server, and takes `next`.",
    operation_class=query(_EMAIL),
    responses={200: answer(Methods, "The ways in.", _EXAMPLE)}
    | problems((400, "Not an email."), (429, "Too many from this address.")),
)
async def methods(request: Req) -> Answer:
    parts, call = parts_of(request), call_of(request)
    given = query_of(request, "email").get("email")
    social = [
        Social(name, provider.kind_as(name), f"/user/oauth/login/{name}")
        for name, provider in parts.settings.oauth_providers.items()
        if provider.enabled
    ]
    if given is None:
        return json(Methods(True, social, []))
    # Who asks for one domain after the other learns who our customers are.
    await parts.accounts.limits.hit_address(_EACH_MINUTE, call.origin.client, "too many questions from this address")
    email = emails.canonical(given)
    if email is None:
        raise invalid("email", "expected an email address")
    found = await _companies(parts, email)
    return json(Methods(not any(one.required for one in found), social, found))


async def _companies(parts: Parts, email: str) -> list[CompanyMethod]:
    if await saml_registry.provider_for(parts.database, parts.accounts.hooks, email) is not None:
        there = f"/user/auth?{urlencode({'sso': '1', 'email': email})}"
        return [CompanyMethod("Single sign-on", "saml", there, takes_password=False, required=True)]
    found = []
    for id_, name, kind in await parts.database.all(_OF_DOMAIN, domain=emails.domain(email)):
        takes_password = isinstance(parts.iam.types.find(kind), TakesPasswords)
        if takes_password or kind in _BROWSER:
            there = f"/api/v1/auth/iam/{id_}"
            found.append(CompanyMethod(name, kind, there, takes_password=takes_password, required=False))
    return found


HANDLERS = [methods]
