"""/companies, /companies/{cid}/organizations and /organizations."""

from typing import Any

from litestar import Request, delete, get, post, put
from litestar.params import FromPath

from penstock.http.answers import Answer, call_of, json
from penstock.http.bodies import parse_query, read_json
from penstock.http.openapi import FORCE, PAGING, answer, json_body, query
from penstock.platform import shown
from penstock.platform.access import access_of, guard
from penstock.platform.companies import queries, rules
from penstock.platform.companies.queries import company_from
from penstock.platform.companies.rules import CompanyChange, NewCompany
from penstock.platform.paging import Page
from penstock.platform.parts import parts_of

Req = Request[Any, Any, Any]
_TAGS = ["companies"]
_ONE = {200: answer(queries.Company, "The company.", shown.COMPANY)}
_ONE_ORGANIZATION = {200: answer(queries.Company, "The organization.", shown.ORGANIZATION)}
_FORCE = query(FORCE)


def _created(company: queries.Company) -> Answer:
    kind = "companies" if company.parent_id is None else "organizations"
    answer = json(company, status=201)
    answer.headers.append((b"location", f"/api/v1/{kind}/{company.id}".encode()))
    return answer


def _force(request: Req) -> bool:
    return parse_query(request.scope["query_string"]).flag("force")


@get(
    "/companies",
    before_request=guard,
    tags=_TAGS,
    summary="The companies in which I have a role anywhere",
    operation_class=query(PAGING),
    responses=shown.page_of(queries.Company, shown.COMPANY, "companies") | shown.SIGNED_OUT,
)
async def list_companies(request: Req) -> Answer:
    page, database = Page(request), parts_of(request).database
    me = access_of(request).caller.id
    total = await database.one(queries.COUNT, user_id=me)
    rows = await database.all(queries.LIST, user_id=me, **page.bounds)
    return page.answer([company_from(row) for row in rows], total[0] if total is not None else 0)


@post(
    "/companies",
    before_request=guard,
    tags=_TAGS,
    summary="Create a company",
    operation_class=json_body(NewCompany, {"name": "Acme"}),
    responses={201: answer(queries.Company, "The company; you are its owner.", shown.COMPANY)}
    | shown.INVALID
    | shown.SIGNED_OUT
    | shown.TAKEN,
)
async def create_company(request: Req) -> Answer:
    body = await read_json(request, NewCompany)
    return _created(await rules.create(parts_of(request), call_of(request), access_of(request), body, parent_id=None))


@get("/companies/{id:str}", before_request=guard, tags=_TAGS, summary="Read a company", responses=_ONE | shown.REFUSED)
async def read_company(request: Req, id: FromPath[str]) -> Answer:  # noqa: A002
    return json(await rules.read(parts_of(request), id, organization=False))


@put(
    "/companies/{id:str}",
    before_request=guard,
    tags=_TAGS,
    summary="Change a company",
    operation_class=json_body(CompanyChange, {"name": "Ajax"}),
    responses=_ONE | shown.INVALID | shown.REFUSED | shown.TAKEN,
)
async def update_company(request: Req, id: FromPath[str]) -> Answer:  # noqa: A002
    body = await read_json(request, CompanyChange)
    return json(
        await rules.update(parts_of(request), call_of(request), access_of(request), id, body, organization=False)
    )


@delete(
    "/companies/{id:str}",
    before_request=guard,
    tags=_TAGS,
    summary="Delete a company and all inside",
    status_code=200,
    operation_class=_FORCE,
    responses=shown.GONE | shown.REFUSED | shown.BUSY,
)
async def delete_company(request: Req, id: FromPath[str]) -> Answer:  # noqa: A002
    await rules.delete(
        parts_of(request), call_of(request), access_of(request), id, organization=False, force=_force(request)
    )
    return Answer(204, b"", "")


@get(
    "/companies/{cid:str}/organizations",
    before_request=guard,
    tags=_TAGS,
    summary="The organizations of a company",
    operation_class=query(PAGING),
    responses=shown.page_of(queries.Company, shown.ORGANIZATION, "organizations") | shown.REFUSED,
)
async def list_organizations(request: Req, cid: FromPath[str]) -> Answer:
    page, database = Page(request), parts_of(request).database
    total = await database.one(queries.COUNT_ORGANIZATIONS, parent_id=cid)
    rows = await database.all(queries.LIST_ORGANIZATIONS, parent_id=cid, **page.bounds)
    return page.answer([company_from(row) for row in rows], total[0] if total is not None else 0)


@post(
    "/companies/{cid:str}/organizations",
    before_request=guard,
    tags=_TAGS,
    summary="Create an organization",
    operation_class=json_body(NewCompany, {"name": "North"}),
    responses={201: answer(queries.Company, "The organization; you are its owner.", shown.ORGANIZATION)}
    | shown.INVALID
    | shown.REFUSED
    | shown.TAKEN,
)
async def create_organization(request: Req, cid: FromPath[str]) -> Answer:
    body = await read_json(request, NewCompany)
    return _created(await rules.create(parts_of(request), call_of(request), access_of(request), body, parent_id=cid))


@get(
    "/organizations/{id:str}",
    before_request=guard,
    tags=_TAGS,
    summary="Read an organization",
    responses=_ONE_ORGANIZATION | shown.REFUSED,
)
async def read_organization(request: Req, id: FromPath[str]) -> Answer:  # noqa: A002
    return json(await rules.read(parts_of(request), id, organization=True))


@put(
    "/organizations/{id:str}",
    before_request=guard,
    tags=_TAGS,
    summary="Change an organization",
    operation_class=json_body(CompanyChange, {"name": "South"}),
    responses=_ONE_ORGANIZATION | shown.INVALID | shown.REFUSED | shown.TAKEN,
)
async def update_organization(request: Req, id: FromPath[str]) -> Answer:  # noqa: A002
    body = await read_json(request, CompanyChange)
    return json(
        await rules.update(parts_of(request), call_of(request), access_of(request), id, body, organization=True)
    )


@delete(
    "/organizations/{id:str}",
    before_request=guard,
    tags=_TAGS,
    summary="Delete an organization",
    status_code=200,
    operation_class=_FORCE,
    responses=shown.GONE | shown.REFUSED | shown.BUSY,
)
async def delete_organization(request: Req, id: FromPath[str]) -> Answer:  # noqa: A002
    await rules.delete(
        parts_of(request), call_of(request), access_of(request), id, organization=True, force=_force(request)
    )
    return Answer(204, b"", "")


HANDLERS = [
    list_companies,
    create_company,
    read_company,
    update_company,
    delete_company,
    list_organizations,
    create_organization,
    read_organization,
    update_organization,
    delete_organization,
]
