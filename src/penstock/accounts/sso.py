"""Single sign-on with a company's SAML provider: off to it, and back."""

import asyncio
from typing import Any

import msgspec

from penstock.accounts import linking, saml, saml_registry, signin
from penstock.accounts.oauth import safe_next
from penstock.accounts.saml import IdentityProvider, SamlError, ServiceProvider
from penstock.accounts.service import Accounts, SamlSource
from penstock.accounts.sessions import Visitor
from penstock.http import metrics
from penstock.problems import BadGateway, FieldError, Invalid, NotSignedIn
from penstock.storage import Transaction


class SignedIn(msgspec.Struct, frozen=True):
    """Where the browser goes, and the session cookie when one was opened here."""

    cookie: str | None
    next: str


async def service_provider(accounts: Accounts, base_url: str) -> ServiceProvider:
    keypair = await saml_registry.keypair(accounts.database)
    entity_id = accounts.settings.saml_entity_id or f"{base_url}/user/saml/metadata"
    return ServiceProvider(entity_id=entity_id, acs_url=f"{base_url}/user/saml/acs", keypair=keypair)


async def metadata(accounts: Accounts, base_url: str) -> str:
    return await asyncio.to_thread(saml.service_provider_metadata, await service_provider(accounts, base_url))


async def begin(accounts: Accounts, entity_id: str, *, base_url: str, next_: str) -> str:
    """The address at the provider to send the browser to, with our signed request."""
    provider = await saml_registry.provider(accounts.database, entity_id)
    if provider is None:
        raise BadGateway(f"no SAML provider is registered as {entity_id}; `penstock saml add` registers one")
    url, _ = await begin_at(accounts, provider, key=entity_id, base_url=base_url, next_=next_)
    return url


async def begin_at(
    accounts: Accounts, provider: IdentityProvider, *, key: str, base_url: str, next_: str
) -> tuple[str, str]:
    """The same for any provider, and the request's id. The answer is taken for `key`'s, whoever it says it is from."""
    ours = await service_provider(accounts, base_url)
    try:
        url, request_id = await asyncio.to_thread(saml.begin, ours, provider, relay_state="")
    except SamlError as error:
        raise BadGateway(f"the SAML provider cannot be used: {error}") from error
    async with accounts.database.transaction() as tx:
        await saml_registry.remember_request(tx, request_id, key, next_)
    return url, request_id


async def finish(accounts: Accounts, response: str, relay_state: str, *, base_url: str, visitor: Visitor) -> SignedIn:
    """Check what the provider posted, in full, and sign in whom it speaks for."""
    if not response.strip():
        raise Invalid("no SAMLResponse was sent", errors=[FieldError("/SAMLResponse", "expected a signed response")])
    try:
        issuer, request_id = await asyncio.to_thread(saml.peek, response)
        request = await saml_registry.request(accounts.database, request_id) if request_id else None
        if request is not None and request_id is not None:
            # Whom we asked decides whose answer this is. By issuer, a stranger who registers somebody else's entity
            # id as their own would stand in for them.
            for source in accounts.saml_sources:
                if source.owns(request.provider_id):
                    return await _hand_over(accounts, source, request, request_id, response, base_url)
        _require_request(accounts, issuer, request_id, request)
        provider = await saml_registry.provider(accounts.database, issuer)
        if provider is None:
            raise SamlError("this identity provider is not registered here")
        ours = await service_provider(accounts, base_url)
        assertion = await asyncio.to_thread(saml.verify, ours, provider, response, expected_request_id=request_id)
        domains = await saml_registry.domains_of(accounts.database, issuer)
        if not saml.speaks_for(domains, assertion.email):
            raise SamlError("this identity provider may not speak for that email")
        _, cookie = await _sign_in(accounts, issuer, request_id, assertion, visitor)
    except SamlError as error:
        metrics.sign_ins.labels("saml", "refused").inc()
        raise NotSignedIn(f"single sign-on was refused: {error}") from error
    metrics.sign_ins.labels("saml", "accepted").inc()
    return SignedIn(cookie, request.next if request is not None else safe_next(relay_state))


async def _hand_over(
    accounts: Accounts,
    source: SamlSource,
    request: saml_registry.Request,
    request_id: str,
    response: str,
    base_url: str,
) -> SignedIn:
    """Check an answer for whoever keeps the provider elsewhere. What becomes of it is theirs to say; no session."""
    key = request.provider_id
    provider = await source.provider(key)
    if provider is None:
        raise SamlError("this identity provider is not registered here")
    ours = await service_provider(accounts, base_url)
    assertion = await asyncio.to_thread(saml.verify, ours, provider, response, expected_request_id=request_id)
    async with accounts.database.transaction() as tx:
        await _use(tx, key, request_id, assertion)
    return SignedIn(None, await source.arrived(key, request.next, request_id, assertion))


def _require_request(
    accounts: Accounts, issuer: str, request_id: str | None, request: saml_registry.Request | None
) -> None:
    if request_id is None:
        if not accounts.settings.saml_idp_initiated:
            raise SamlError("start at our own sign-in page (sign-in that begins at the provider is switched off)")
    elif request is None:
        raise SamlError("the sign-in took too long or was finished already; please try again")
    elif request.provider_id != issuer:
        raise SamlError("the answer is not from the provider that was asked")


async def _sign_in(
    accounts: Accounts, issuer: str, request_id: str | None, assertion: saml.Assertion, visitor: Visitor
) -> tuple[Any, str]:
    try:
        return await _spend(accounts, issuer, request_id, assertion, visitor)
    except linking.Raced:
        return await _spend(accounts, issuer, request_id, assertion, visitor)


async def _spend(
    accounts: Accounts, issuer: str, request_id: str | None, assertion: saml.Assertion, visitor: Visitor
) -> tuple[Any, str]:
    async with accounts.database.transaction() as tx:
        await _use(tx, issuer, request_id, assertion)
        userid, new = await linking.account_for_verified_email(accounts, tx, assertion.email, visitor)
        return await signin.open_for(accounts, tx, userid, visitor, new_account=new)


async def _use(tx: Transaction, key: str, request_id: str | None, assertion: saml.Assertion) -> None:
    fresh = request_id is None or await saml_registry.answer_request(tx, request_id)
    used = await saml_registry.use_assertion(tx, key, assertion.assertion_id, assertion.not_on_or_after)
    if not fresh or not used:
        raise SamlError("this answer was used before")
