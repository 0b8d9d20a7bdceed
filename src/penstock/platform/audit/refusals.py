"""Every refusal (403) under /api/v1 is noted, whoever raised it: the guard, or a rule that looked closer.

What was refused has rolled back by then, so the entry has a transaction of its own, before the answer leaves.
"""

from typing import TYPE_CHECKING, Any

import structlog
from litestar import Request, Response

from penstock.http.answers import Answer, call_of, handle
from penstock.platform.audit.entries import record
from penstock.platform.parts import parts_of
from penstock.problems import Denied
from penstock.storage import StorageError

if TYPE_CHECKING:
    from penstock.platform.access import Access

log = structlog.get_logger()


def refuse(request: Request[Any, Any, Any], error: Denied) -> Response[Any]:
    """Litestar's exception handler for `Denied`."""
    answer: Answer = handle(request, error).to_asgi_response(app=None, request=request)  # type: ignore[assignment]
    return _Refusal(request, answer, error)


class _Refusal(Response[Any]):
    """Litestar's exception handlers cannot wait for anything; the response that they return can."""

    def __init__(self, request: Request[Any, Any, Any], answer: Answer, error: Denied) -> None:
        super().__init__(content=None)
        self._request, self._answer, self._error = request, answer, error

    def to_asgi_response(self, *args: Any, **kwargs: Any) -> Any:
        return self

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            await _note(self._request, self._error)
        except StorageError as error:
            # Still a refusal: an unwritten entry must not open anything, nor look like a success.
            log.error("a refusal could not be noted", request_id=call_of(self._request).request_id, exc_info=error)
        await self._answer(scope, receive, send)


async def _note(request: Request[Any, Any, Any], error: Denied) -> None:
    scope: Any = request.scope
    access: Access | None = scope.get("access")
    call = call_of(request)
    resource_type, resource_id = scope.get("target", ("", None))
    async with parts_of(request).database.transaction() as tx:
        await record(
            tx,
            call,
            "access.denied",
            user_id=access.caller.id if access is not None else None,
            company_id=access.root_id if access is not None else None,
            organization_id=access.organization_id if access is not None else None,
            resource_type=resource_type,
            resource_id=resource_id,
            details={"method": call.method, "route": scope["path_template"], "reason": error.detail},
        )
