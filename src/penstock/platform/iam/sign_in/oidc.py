"""Off to a company's OpenID Connect provider, and back."""

from penstock.accounts.oauth import OAuthError, Pending, ProviderDown
from penstock.platform.iam import config
from penstock.platform.iam.person import Person, groups_from
from penstock.platform.iam.queries import Stored
from penstock.platform.iam.service import Iam
from penstock.problems import BadGateway, Invalid, Problem


def _problem(error: OAuthError) -> Problem:
    return BadGateway(str(error)) if isinstance(error, ProviderDown) else Invalid(str(error))


async def begin(iam: Iam, provider: Stored, *, callback: str) -> tuple[str, Pending]:
    try:
        return await iam.oidc(provider).begin(provider.id, redirect_uri=callback, next="/")
    except OAuthError as error:
        raise _problem(error) from error


async def finish(iam: Iam, provider: Stored, pending: Pending | None, query: dict[str, str]) -> Person:
    if pending is None:
        raise Invalid("this sign-in is no longer valid; please start again")
    if "error" in query:
        raise Invalid("the identity provider did not let you in")
    try:
        identity = await iam.oidc(provider).finish(
            provider.id, pending, code=query.get("code", ""), state=query.get("state", ""), iss=query.get("iss")
        )
    except OAuthError as error:
        raise _problem(error) from error
    known = config.read(iam.config_of(provider), config.Oidc)
    # Some providers never say it; then the company may vouch for its own. One that says "no" is believed.
    vouched = known.trust_email and identity.claims.get("email_verified") is None
    return Person(
        authority=known.issuer,
        subject=identity.subject,
        email=identity.email,
        email_verified=identity.email_verified or (vouched and bool(identity.email)),
        name=identity.name,
        groups=groups_from(identity.claims.get(known.groups_claim)),
    )
