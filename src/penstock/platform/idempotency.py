"""The header `Idempotency-Key`: a request that is repeated with it, within a day, is done once."""

import re

from litestar.openapi.spec import Parameter, Schema
from litestar.openapi.spec.enums import OpenAPIType

from penstock.http.edge import Call
from penstock.problems import Invalid

KEY_LIVES = 24 * 3600 * 1_000_000
_KEY = re.compile(r"[\x21-\x7e]{1,255}")


def key_of(call: Call) -> str | None:
    """None when the request has none."""
    if b"idempotency-key" not in call.headers:
        return None
    key = call.header(b"idempotency-key")
    if not _KEY.fullmatch(key):
        raise Invalid("Idempotency-Key: expected 1 to 255 visible ASCII characters")
    return key


def parameter() -> Parameter:
    return Parameter(
        name="Idempotency-Key",
        param_in="header",
        description="1 to 255 visible ASCII characters.",
        schema=Schema(type=OpenAPIType.STRING, min_length=1, max_length=255, examples=["order-17"]),
    )
