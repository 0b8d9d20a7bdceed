"""/companies/{id}/iam/providers, /iam/providers/{id} (with test and mappings) and /iam/mappings/{id}."""

from typing import Any

from litestar import Request, delete, get, post, put
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import FromPath

from penstock.http.answers import Answer, call_of, json
from penstock.http.bodies import read_json, read_nothing
from penstock.http.openapi import PAGING, answer, json_body, listed, problems, query
from penstock.platform.access import access_of, guard
from penstock.platform.iam import grants, queries, rules
from penstock.platform.iam.grants import NewMapping
from penstock.platform.iam.probe import Outcome
from penstock.platform.iam.queries import Mapping, Provider, mapping_from, stored_from
from penstock.platform.iam.rules import NewProvider, ProviderChange
from penstock.platform.paging import Page
from penstock.platform.parts import parts_of

Req = Request[Any, Any, Any]
_TAGS = ["identity providers"]
_CONFIG = {
    "issuer": "https://idp.example",
    "client_id": "penstock",
    "client_secret": "********",
    "scopes": ["openid", "email", "profile"],
    "groups_claim": "groups",
}
_PROVIDER = {
    "id": "0199d3a4-5b6c-7d8e-9f00-112233445566",
    "company_id": "0199d3a4-0000-7000-8000-000000000001",
    "provider_type": "oidc",
    "name": "Staff",
    "config": _CONFIG,
    "enabled": True,
    "created_at": "2026-11-15T09:00:00.000000Z",
    "updated_at": "2026-11-15T09:00:00.000000Z",
}
_MAPPED = {
    "external_identifier": "engineers",
    "resource_type": "project",
    "resource_id": "0199d3a4-0000-7000-8000-000000000002",
    "role": "editor",
}
_MAPPING = {
    "id": "0199d3a4-0000-7000-8000-000000000003",
    "provider_id": _PROVIDER["id"],
    **_MAPPED,
    "created_at": "2026-11-15T09:00:00.000000Z",
}
_SENT = _CONFIG | {"client_secret": "kept-between-us"}
_USUAL = ((401, "Not signed in."), (403, "The role is too low."), (404, "There is no such thing."))
_GONE = {204: ResponseSpec(None, description="It is gone.")}
_INVALID = (400, "Not valid; `errors` says where.")


@get(
    "/companies/{id:str}/iam/providers",
    before_request=guard,
    tags=_TAGS,
    summary="The identity providers of a company",
    operation_class=query(PAGING),
    responses=listed(Provider, "A page of providers, newest first; their secrets are masked.", _PROVIDER)
    | problems(*_USUAL),
)
async def list_providers(request: Req, id: FromPath[str]) -> Answer:  # noqa: A002
    page, parts = Page(request), parts_of(request)
    total = await parts.database.one(queries.COUNT, company_id=id.lower())
    rows = await parts.database.all(queries.LIST, company_id=id.lower(), **page.bounds)
    return page.answer([rules.shown(parts.iam, stored_from(row)) for row in rows], total[0] if total is not None else 0)


@post(
    "/companies/{id:str}/iam/providers",
    before_request=guard,
    tags=_TAGS,
    summary="Add an identity provider",
    operation_class=json_body(NewProvider, {"provider_type": "oidc", "name": "Staff", "config": _SENT}),
    responses={201: answer(Provider, "The provider; its secrets are masked.", _PROVIDER)}
    | problems(_INVALID, *_USUAL, (409, "The name is taken.")),
)
async def create_provider(request: Req, id: FromPath[str]) -> Answer:  # noqa: A002
    body = await read_json(request, NewProvider)
    provider = await rules.create(parts_of(request), call_of(request), access_of(request), id, body)
    made = json(provider, status=201)
    made.headers.append((b"location", f"/api/v1/iam/providers/{provider.id}".encode()))
    return made


@get(
    "/iam/providers/{id:str}",
    before_request=guard,
    tags=_TAGS,
    summary="Read an identity provider",
    responses={200: answer(Provider, "The provider; its secrets are masked.", _PROVIDER)} | problems(*_USUAL),
)
async def read_provider(request: Req, id: FromPath[str]) -> Answer:  # noqa: A002
    return json(await rules.read(parts_of(request), id))


@put(
    "/iam/providers/{id:str}",
    before_request=guard,
    tags=_TAGS,
    summary="Change an identity provider",
    description="`config` replaces the whole configuration; `********` keeps a stored secret, unless the address that "
    "it is sent to changes. Another issuer, entity id or directory has other people: links to accounts are dropped. "
    "Whom it lets in, and whether it is enabled, changes only who has every role that its mappings give.",
    operation_class=json_body(ProviderChange, {"enabled": False}),
    responses={200: answer(Provider, "The provider; its secrets are masked.", _PROVIDER)}
    | problems(_INVALID, *_USUAL, (409, "The name is taken.")),
)
async def update_provider(request: Req, id: FromPath[str]) -> Answer:  # noqa: A002
    body = await read_json(request, ProviderChange)
    return json(await rules.update(parts_of(request), call_of(request), access_of(request), id, body))


@delete(
    "/iam/providers/{id:str}",
    before_request=guard,
    tags=_TAGS,
    summary="Delete an identity provider, its mappings and what they granted",
    description="Only who has every role that its mappings give.",
    status_code=200,
    responses=_GONE | problems(*_USUAL),
)
async def delete_provider(request: Req, id: FromPath[str]) -> Answer:  # noqa: A002
    await rules.delete(parts_of(request), call_of(request), access_of(request), id)
    return Answer(204, b"", "")


@post(
    "/iam/providers/{id:str}/test",
    before_request=guard,
    tags=_TAGS,
    summary="Try an identity provider, for real",
    status_code=200,
    responses={
        200: answer(
            Outcome,
            "Whether it works, and why not.",
            {"success": False, "message": "idp.example refused it"},
        )
    }
    | problems(*_USUAL, (429, "Too many tests.")),
)
async def test_provider(request: Req, id: FromPath[str]) -> Answer:  # noqa: A002
    await read_nothing(request)
    return json(await rules.test(parts_of(request), call_of(request), access_of(request), id))


@get(
    "/iam/providers/{id:str}/mappings",
    before_request=guard,
    tags=_TAGS,
    summary="The role mappings of an identity provider",
    operation_class=query(PAGING),
    responses=listed(Mapping, "A page of mappings, newest first.", _MAPPING) | problems(*_USUAL),
)
async def list_mappings(request: Req, id: FromPath[str]) -> Answer:  # noqa: A002
    page, database = Page(request), parts_of(request).database
    total = await database.one(queries.COUNT_MAPPINGS, provider_id=id.lower())
    rows = await database.all(queries.LIST_MAPPINGS, provider_id=id.lower(), **page.bounds)
    return page.answer([mapping_from(row) for row in rows], total[0] if total is not None else 0)


@post(
    "/iam/providers/{id:str}/mappings",
    before_request=guard,
    tags=_TAGS,
    summary="Map a name at the provider to a role",
    description="At sign-in, each mapping whose `external_identifier` equals the person's subject, verified email or "
    "one of their groups gives its role on its resource. Nobody maps a role above their own.",
    operation_class=json_body(NewMapping, _MAPPED),
    responses={201: answer(Mapping, "The mapping.", _MAPPING)}
    | problems(_INVALID, *_USUAL, (409, "The identifier is mapped on that resource already.")),
)
async def create_mapping(request: Req, id: FromPath[str]) -> Answer:  # noqa: A002
    body = await read_json(request, NewMapping)
    mapping = await grants.create(parts_of(request), call_of(request), access_of(request), id.lower(), body)
    return json(mapping, status=201)


@delete(
    "/iam/mappings/{id:str}",
    before_request=guard,
    tags=_TAGS,
    summary="Delete a role mapping, and what it granted",
    status_code=200,
    responses=_GONE | problems(*_USUAL),
)
async def delete_mapping(request: Req, id: FromPath[str]) -> Answer:  # noqa: A002
    await grants.delete(parts_of(request), call_of(request), access_of(request), id)
    return Answer(204, b"", "")


HANDLERS = [
    list_providers,
    create_provider,
    read_provider,
    update_provider,
    delete_provider,
    test_provider,
    list_mappings,
    create_mapping,
    delete_mapping,
]
