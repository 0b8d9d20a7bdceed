"""GET /auth/identities and DELETE /auth/identities/{provider_id}: which companies' providers open my account.

The providers that everybody may use are document 1's: `methods` of /user/get, and /user/oauth/remove.
"""

from typing import Any

from litestar import Request, delete, get
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import FromPath
from msgspec import Struct
from sqlalchemy import bindparam, func, select
from sqlalchemy import delete as delete_from

from penstock.accounts import saml_registry, users
from penstock.http.answers import Answer, call_of
from penstock.http.openapi import PAGING, listed, problems, query
from penstock.http.times import rfc3339
from penstock.ids import is_uuid
from penstock.platform import audit
from penstock.platform.access import access_of, guard
from penstock.platform.iam import queries
from penstock.platform.iam.queries import stored_from
from penstock.platform.paging import Page
from penstock.platform.parts import parts_of
from penstock.problems import Conflict, NotFound, NotSignedIn
from penstock.storage import Statement
from penstock.storage.platform_tables import companies, iam_identities, iam_providers

Req = Request[Any, Any, Any]
_TAGS = ["sign-in"]
_mine = iam_identities.c.user_id == bindparam("user_id")
# Of one provider one may have several: who vouches for its people changed meanwhile.
_LIST = Statement(
    select(
        iam_providers.c.id,
        iam_providers.c.name,
        iam_providers.c.provider_type,
        iam_providers.c.enabled,
        companies.c.id,
        companies.c.name,
        func.max(iam_identities.c.created_at).label("since"),
    )
    .select_from(
        iam_identities.join(iam_providers, iam_providers.c.id == iam_identities.c.provider_id).join(
            companies, companies.c.id == iam_providers.c.company_id
        )
    )
    .where(_mine)
    .group_by(
        iam_providers.c.id,
        iam_providers.c.name,
        iam_providers.c.provider_type,
        iam_providers.c.enabled,
        companies.c.id,
        companies.c.name,
    )
    .order_by(func.max(iam_identities.c.created_at).desc(), iam_providers.c.id)
    .limit(bindparam("limit"))
    .offset(bindparam("offset"))
)
_COUNT = Statement(select(func.count(iam_identities.c.provider_id.distinct())).select_from(iam_identities).where(_mine))
_REMOVE = Statement(delete_from(iam_identities).where(_mine, iam_identities.c.provider_id == bindparam("provider_id")))


class LinkedIdentity(Struct, frozen=True):
    """A company's provider at which one can sign in to this account."""

    provider_id: str
    name: str
    provider_type: str
    enabled: bool
    company_id: str
    company: str
    created_at: str


_EXAMPLE = {
    "provider_id": "0192d3a4-5b6c-7d8e-9f00-112233445566",
    "name": "Okta",
    "provider_type": "oidc",
    "enabled": True,
    "company_id": "0192d3a4-5b6c-7d8e-9f00-112233445566",
    "company": "Acme",
    "created_at": "2026-01-01T00:00:00.000000Z",
}


@get(
    "/auth/identities",
    before_request=guard,
    tags=_TAGS,
    summary="The companies' providers that open my account",
    operation_class=query(PAGING),
    responses=listed(LinkedIdentity, "Newest first.", _EXAMPLE)
    | problems((400, "page_size: expected a number from 1 to 100"), (401, "Not signed in.")),
)
async def list_identities(request: Req) -> Answer:
    page, database, me = Page(request), parts_of(request).database, access_of(request).caller.id
    count = await database.one(_COUNT, user_id=me)
    rows = await database.all(_LIST, user_id=me, **page.bounds)
    found = [
        LinkedIdentity(str(id_), name, kind, bool(enabled), str(company_id), company, rfc3339(since))
        for id_, name, kind, enabled, company_id, company, since in rows
    ]
    return page.answer(found, count[0] if count is not None else 0)


@delete(
    "/auth/identities/{provider_id:str}",
    before_request=guard,
    tags=_TAGS,
    summary="No longer sign in through a company's provider",
    description="What its mappings gave you goes with it.",
    status_code=200,
    responses={204: ResponseSpec(None, description="It opens your account no more.")}
    | problems((401, "Not signed in."), (404, "Not linked."), (409, "It is the only way to sign in.")),
)
async def remove_identity(request: Req, provider_id: FromPath[str]) -> Answer:
    parts, call, caller = parts_of(request), call_of(request), access_of(request).caller
    served = await saml_registry.provider_for(parts.database, parts.accounts.hooks, caller.email)
    async with parts.database.transaction() as tx:
        # Locked: of two who take away the last two ways in at once, the second finds that it is the last.
        account = await users.locked(tx, caller.userid)
        if account is None:
            raise NotSignedIn("not signed in")
        row = await tx.one(queries.FIND, id=provider_id) if is_uuid(provider_id) else None
        if row is None or not await tx.run(_REMOVE, user_id=caller.id, provider_id=provider_id):
            raise NotFound("that provider is not linked to your account")
        other = await tx.one(queries.OPENS, user_id=caller.id)
        linked = await users.linked_methods(tx, caller.userid)
        if account.password_hash is None and served is None and not linked and other is None:
            raise Conflict("that is the only way to sign in to this account; set a password first")
        await tx.run(queries.WITHDRAW_FROM, user_id=caller.id, provider_id=provider_id)
        provider = stored_from(row)
        await audit.record(
            tx,
            call,
            "iam_provider.unlink",
            user_id=caller.id,
            company_id=provider.root_id,
            organization_id=provider.company_id if provider.company_id != provider.root_id else None,
            resource_id=provider.id,
        )
    return Answer(204, b"", "")


HANDLERS = [list_identities, remove_identity]
