"""Everything that can go wrong for a caller, raised where the rule is, answered as RFC 9457 in one place.

Problem
├── Invalid             400  malformed or invalid input
├── NotSignedIn         401  no session, bad credentials, bad token
├── Denied              403  signed in, but not allowed
├── NotFound            404  no such thing
├── NotAllowed          405  no such method here
├── SsoRequired         407  this email signs in at its company's provider
├── Conflict            409  duplicate or wrong state
├── PreconditionFailed  412  somebody else changed it meanwhile (If-Match)
├── TooLarge            413  body over the limit
├── WrongType           415  a body in a language that we do not read
├── Unprocessable       422  a workflow definition that is not valid
├── RateLimited         429  too often; says when to come back
├── Internal            500  our fault; the log knows
├── BadGateway          502  a provider did not answer
└── Overloaded          503  the database is locked, full or away
"""

from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec


class FieldError(msgspec.Struct, frozen=True):
    """One thing wrong with a body: where (a JSON pointer) and what."""

    path: str
    message: str


class Problem(Exception):
    """The base of all. `detail` is shown to a person: what happened, and what to do."""

    status: ClassVar[int] = 500
    slug: ClassVar[str] = "internal"
    title: ClassVar[str] = "Something went wrong"

    def __init__(
        self, detail: str, *, errors: Sequence[FieldError] | None = None, headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.errors = errors
        self.headers = headers or {}

    def document(self, request_id: str) -> dict[str, Any]:
        members: dict[str, Any] = {
            "type": f"urn:penstock:problem:{self.slug}",
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
            "instance": f"urn:uuid:{request_id}",
        }
        if self.errors is not None:
            members["errors"] = self.errors
        return members


class Invalid(Problem):
    status, slug, title = 400, "invalid", "The request is not valid"


class NotSignedIn(Problem):
    status, slug, title = 401, "not-signed-in", "Not signed in"


class Denied(Problem):
    status, slug, title = 403, "denied", "Not allowed"


class NotFound(Problem):
    status, slug, title = 404, "not-found", "No such thing"


class NotAllowed(Problem):
    status, slug, title = 405, "method-not-allowed", "No such method here"


class NotAcceptable(Problem):
    status, slug, title = 406, "not-acceptable", "No such representation"


class SsoRequired(Problem):
    status, slug, title = 407, "sso-required", "Single sign-on required"


class Conflict(Problem):
    status, slug, title = 409, "conflict", "Conflict"


class PreconditionFailed(Problem):
    status, slug, title = 412, "precondition-failed", "It was changed meanwhile"


class TooLarge(Problem):
    status, slug, title = 413, "too-large", "The body is too large"


class WrongType(Problem):
    status, slug, title = 415, "unsupported-media-type", "A content type that we do not read"


class Unprocessable(Problem):
    status, slug, title = 422, "unprocessable", "The definition is not valid"


class RateLimited(Problem):
    status, slug, title = 429, "rate-limited", "Too many requests"

    def __init__(self, detail: str, *, retry_after: int) -> None:
        super().__init__(detail, headers={"Retry-After": str(max(1, retry_after))})


class Internal(Problem):
    status, slug, title = 500, "internal", "Something went wrong"

    def __init__(self) -> None:
        super().__init__("an unexpected error occurred; the server's log has it under this request's id")


class BadGateway(Problem):
    status, slug, title = 502, "bad-gateway", "A provider did not answer"


class Overloaded(Problem):
    status, slug, title = 503, "unavailable", "Not available right now"

    def __init__(self, detail: str) -> None:
        super().__init__(detail, headers={"Retry-After": "5"})
