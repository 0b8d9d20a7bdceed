"""How executions and steps look, for the documentation."""

from dataclasses import dataclass
from typing import Any

from litestar.openapi.spec import OpenAPIMediaType, Operation, RequestBody, Schema
from litestar.openapi.spec.enums import OpenAPIType

from penstock.platform.idempotency import parameter

_ID = "0192d3a4-5b6c-7d8e-9f00-112233445566"
_AT, _LATER = "2026-01-31T12:00:00.000000Z", "2026-01-31T12:00:01.500000Z"

EXECUTION: dict[str, Any] = {
    "id": _ID,
    "workflow_id": "0192d3a4-5b6c-7d8e-9f00-aabbccddeeff",
    "version": 3,
    "trigger_type": "manual",
    "trigger_data": {"order": 17},
    "status": "completed",
    "output_data": {"ok": True},
    "error_message": None,
    "error": None,
    "started_at": _AT,
    "completed_at": _LATER,
    "duration_ms": 1500,
    "created_at": _AT,
    "metadata": {},
}
STARTER = {"id": "0192d3a4-0000-7d8e-9f00-aabbccddeeff", "email": "ada@example.com", "display_name": "Ada"}
LISTED = EXECUTION | {
    "triggered_by": STARTER,
    "workflow": {
        "id": EXECUTION["workflow_id"],
        "name": "Greet",
        "project_id": "0192d3a4-1111-7d8e-9f00-112233445566",
        "project_name": "Shop",
    },
}
STEP: dict[str, Any] = {
    "id": "0192d3a4-5b6c-7d8e-9f00-010203040506",
    "execution_id": _ID,
    "step_name": "charge",
    "step_type": "call",
    "reference": "/do/0/charge",
    "sequence_num": 1,
    "attempt": 1,
    "status": "completed",
    "input_data": {"order": 17},
    "output_data": {"ok": True},
    "error_message": None,
    "started_at": _AT,
    "completed_at": _LATER,
    "duration_ms": 1500,
    "metadata": {},
}


@dataclass
class TRIGGER(Operation):
    def __post_init__(self) -> None:
        data = Schema(description="Any JSON: the workflow's input, `{}` when left out. Up to 256 KiB.")
        schema = Schema(type=OpenAPIType.OBJECT, properties={"trigger_data": data}, additional_properties=False)
        self.request_body = RequestBody(
            content={"application/json": OpenAPIMediaType(schema=schema, example={"trigger_data": {"order": 17}})},
            required=False,
        )
        self.parameters = [*(self.parameters or []), parameter()]
