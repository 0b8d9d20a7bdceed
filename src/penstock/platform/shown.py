"""What the OpenAPI document shows of companies, projects and members."""

from typing import Any

from litestar.openapi.datastructures import ResponseSpec
from msgspec import Struct

from penstock.http.openapi import listed, problems

ID = "0192d3a4-5b6c-7d8e-9f00-112233445566"
_TIMES = {"created_at": "2026-01-01T00:00:00.000000Z", "updated_at": "2026-01-01T00:00:00.000000Z"}
COMPANY: dict[str, Any] = {
    "id": ID,
    "parent_id": None,
    "name": "Acme",
    "slug": "acme",
    "owner_id": ID,
    "metadata": {},
} | _TIMES
ORGANIZATION = COMPANY | {"parent_id": ID, "name": "North", "slug": "north"}
PROJECT = {
    "id": ID,
    "company_id": ID,
    "name": "Apollo",
    "slug": "apollo",
    "description": "To the moon",
    "metadata": {},
} | _TIMES
MEMBER = {"id": ID, "user_id": ID, "company_id": ID, "project_id": None, "role": "editor"} | _TIMES
PERSON = {"user": {"id": ID, "email": "ann@example.com", "display_name": "Ann"}}

INVALID = problems((400, "name: must not be blank"))
SIGNED_OUT = problems((401, "send an access token as Authorization: Bearer …"))
REFUSED = SIGNED_OUT | problems(
    (403, "this needs the role admin here; yours is viewer"), (404, "there is no such company")
)
TAKEN = problems((409, "the slug 'acme' is taken; choose another"))
BUSY = problems((409, "a workflow in it is active or an execution runs; stop them, or delete with ?force=true"))
GONE = {204: ResponseSpec(None, description="It is gone.")}


def page_of(kind: type[Struct], example: dict[str, Any], what: str) -> dict[int, ResponseSpec]:
    return listed(kind, f"A page of {what}, newest first.", example) | problems(
        (400, "page_size: expected a number from 1 to 100")
    )
