"""What the OpenAPI document shows of workflows: an example of each resource, and what many routes answer."""

from litestar.openapi.datastructures import ResponseSpec

from penstock.http.openapi import Fields, problems

_ID = "0192d3a4-5b6c-7d8e-9f00-112233445566"
_USER = "0192d3a4-0000-7d8e-9f00-aabbccddeeff"
_TIME = "2026-01-01T00:00:00.000000Z"
DEFINITION = (
    "document:\n  dsl: 1.0.0\n  namespace: shop\n  name: greet\n  version: 0.1.0\n"
    "do:\n  - hello:\n      set:\n        message: Hello\n"
)
WORKFLOW = {
    "id": _ID,
    "project_id": "0192d3a4-1111-7d8e-9f00-112233445566",
    "name": "Greet",
    "slug": "greet",
    "description": "",
    "config_yaml": DEFINITION,
    "version": 1,
    "status": "draft",
    "deployed_version": None,
    "created_by": _USER,
    "updated_by": _USER,
    "created_at": _TIME,
    "updated_at": _TIME,
    "validation": {"valid": True, "errors": []},
}
VERSION = {
    "workflow_id": _ID,
    "version": 1,
    "config_yaml": DEFINITION,
    "created_by": _USER,
    "created_at": _TIME,
}
STATUS = {
    "id": _ID,
    "status": "active",
    "version": 2,
    "deployed_version": 2,
    "running": 0,
    "next_run_at": None,
}
PERMISSION = {
    "id": "0192d3a4-2222-7d8e-9f00-112233445566",
    "workflow_id": _ID,
    "user_id": _USER,
    "role": "editor",
    "created_at": _TIME,
    "updated_at": _TIME,
}
PERSON = {"id": _USER, "email": "ada@example.com", "display_name": "Ada"}
LINK = {
    "id": "0192d3a4-3333-7d8e-9f00-112233445566",
    "source_workflow_id": _ID,
    "target_workflow_id": "0192d3a4-4444-7d8e-9f00-112233445566",
    "link_type": "completed",
    "config": {"input": "{order: .id}"},
    "created_by": _USER,
    "created_at": _TIME,
}


REFUSED = problems((401, "Not signed in."), (403, "The role is too low."), (404, "There is no such workflow."))
GONE = {204: ResponseSpec(None, description="Deleted; no body.")}
STATUSES = ("draft", "active", "stopped", "error")
FILTERS: Fields = {
    "status": ("active", "draft, active, stopped or error."),
    "q": ("greet", "A part of name, slug or description, whatever its case; 200 characters at most."),
}
INCLUDE: Fields = {
    "include": ("runs", "`runs`: with how many executions run, when the next begins, and how the last twelve went.")
}
IF_MATCH: Fields = {"If-Match": ('"17"', "The ETag that was read: 412 if somebody changed it since.")}
STALE = problems((412, "If-Match: somebody changed it meanwhile."))
