"""How streams and their filters look, for the documentation."""

from typing import Any

from litestar.openapi.datastructures import ResponseSpec

from penstock.http.openapi import Fields, problems

EXECUTION_ID: Fields = {"execution_id": ("0192d3a4-5b6c-7d8e-9f00-112233445566", "Of this execution only.")}
RESUME: Fields = {"Last-Event-ID": ("4711", "Resume after the entry with this id.")}
AFTER: Fields = {"after": ("4711", "Resume after the entry with this id, as the header Last-Event-ID does.")}


def streamed(description: str) -> dict[int, ResponseSpec]:
    return {
        200: ResponseSpec(str, description=description, media_type="text/event-stream", generate_examples=False)
    } | problems((400, "A filter or the id to resume from is not valid."))


EVENT: dict[str, Any] = {
    "id": 4711,
    "type": "workflow.completed",
    "workflow_id": "0192d3a4-5b6c-7d8e-9f00-aabbccddeeff",
    "execution_id": "0192d3a4-5b6c-7d8e-9f00-112233445566",
    "step_name": None,
    "data": {"completedAt": "2026-01-31T12:00:01.500000Z"},
    "created_at": "2026-01-31T12:00:01.500000Z",
}
LOG_ENTRY: dict[str, Any] = {
    "id": 815,
    "workflow_id": "0192d3a4-5b6c-7d8e-9f00-aabbccddeeff",
    "execution_id": "0192d3a4-5b6c-7d8e-9f00-112233445566",
    "level": "info",
    "message": "execution completed",
    "module_name": "engine",
    "fields": {},
    "created_at": "2026-01-31T12:00:01.500000Z",
}
