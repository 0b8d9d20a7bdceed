"""Off to a company's SAML provider, and back through document 1's endpoint, which the operator's providers use too.

The assertion arrives by a cross-site POST, without cookies. So it is only checked there; what it said travels, sealed,
with a redirect to our callback, where the browser shows that it is the one that set out.
"""

import time

import msgspec

from penstock.accounts import emails, sso
from penstock.accounts.saml import Assertion, IdentityProvider, SamlError
from penstock.ids import is_uuid
from penstock.platform.iam import config, queries
from penstock.platform.iam.person import Person, groups_from
from penstock.platform.iam.probe import ProbeFailed
from penstock.platform.iam.queries import Stored, mapping_from, stored_from
from penstock.platform.iam.sealing import seal, unseal
from penstock.platform.iam.service import Iam
from penstock.platform.iam.sign_in.underway import Underway
from penstock.platform.parts import Parts
from penstock.problems import BadGateway, Invalid, Problem
from penstock.storage import Database

_KEY = "urn:penstock:iam:"
_PURPOSE = "iam saml arrival"
_LIFETIME = 120
_LONGEST = 6000
_TRANSIENT = "urn:oasis:names:tc:SAML:2.0:nameid-format:transient"
_GROUPS = (
    "memberOf",
    "http://schemas.xmlsoap.org/claims/Group",
    "http://schemas.microsoft.com/ws/2008/06/identity/claims/groups",
)


class Arrival(msgspec.Struct, frozen=True):
    provider_id: str
    request_id: str
    person: Person
    expires: int


async def begin(parts: Parts, provider: Stored, *, base_url: str, callback: str) -> tuple[str, str]:
    """The address at the provider, and the id of the request that it carries."""
    try:
        described = await parts.iam.saml(provider)
    except (SamlError, ProbeFailed) as error:
        raise BadGateway("the identity provider's metadata cannot be had; a test of the provider says why") from error
    return await sso.begin_at(parts.accounts, described, key=_KEY + provider.id, base_url=base_url, next_=callback)


def finish(iam: Iam, underway: Underway, arrival: str) -> Person:
    """Who came back, if this browser set out with the request that was answered."""
    text = unseal(iam.sign_in_key, _PURPOSE, arrival) if 0 < len(arrival) <= _LONGEST else None
    arrived = msgspec.json.decode(text, type=Arrival) if text is not None else None
    if (
        arrived is None
        or arrived.provider_id != underway.provider_id
        or not underway.request_id
        or arrived.request_id != underway.request_id
        or not time.time() < arrived.expires
    ):
        raise Invalid("this sign-in was not begun in this browser, or took too long; please start again")
    return arrived.person


class CompanySaml:
    """The companies' providers, as document 1's SAML endpoint knows them: by the request, never by issuer."""

    def __init__(self, database: Database, iam: Iam) -> None:
        self._database = database
        self._iam = iam

    def owns(self, key: str) -> bool:
        return key.startswith(_KEY)

    async def provider(self, key: str) -> IdentityProvider | None:
        stored = await self._stored(key)
        try:
            return await self._iam.saml(stored) if stored is not None else None
        except (ProbeFailed, Problem) as error:
            raise SamlError("the identity provider's metadata cannot be had") from error

    async def arrived(self, key: str, next_: str, request_id: str, assertion: Assertion) -> str:
        stored = await self._stored(key)
        if stored is None:
            raise SamlError("this identity provider is not registered here")
        if assertion.name_id_format == _TRANSIENT:
            raise SamlError("the provider names people anew each time; have it send a persistent name or the email")
        known = config.read(self._iam.config_of(stored), config.Saml)
        person = _person(known, assertion, await self._mapped(stored))
        arrival = Arrival(stored.id, request_id, person, int(time.time()) + _LIFETIME)
        sealed = seal(self._iam.sign_in_key, _PURPOSE, arrival)
        if len(sealed) > _LONGEST:
            raise SamlError("the provider sent more groups with mappings than can be carried")
        return f"{next_}?arrival={sealed}"

    async def _stored(self, key: str) -> Stored | None:
        """None also for one that was switched off since."""
        id_ = key.removeprefix(_KEY)
        row = await self._database.one(queries.FIND, id=id_) if is_uuid(id_) else None
        stored = stored_from(row) if row is not None else None
        return stored if stored is not None and stored.enabled and stored.provider_type == "saml" else None

    async def _mapped(self, stored: Stored) -> set[str]:
        rows = await self._database.all(queries.MAPPINGS, provider_id=stored.id)
        return {mapping_from(row).external_identifier for row in rows}


def _person(known: config.Saml, assertion: Assertion, mapped: set[str]) -> Person:
    """Of the groups, those that some mapping names: a person may be in thousands."""
    groups = {
        group
        for name in (known.groups_attribute, *_GROUPS)
        for group in groups_from(assertion.attributes.get(name, []))
        if group in mapped
    }
    email = emails.canonical(assertion.email) or ""
    return Person(
        authority=assertion.issuer,
        subject=assertion.name_id,
        email=email,
        email_verified=bool(email) and (not known.domains or emails.domain(email) in known.domains),
        groups=sorted(groups),
    )
