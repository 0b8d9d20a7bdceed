"""AWS Signature Version 4, as far as a POST of a form needs it."""

import hashlib
import hmac
from datetime import datetime
from urllib.parse import urlsplit

import msgspec


class Keys(msgspec.Struct, frozen=True):
    access_key_id: str
    secret_access_key: str
    session_token: str = ""

    def __repr__(self) -> str:
        return f"Keys({self.access_key_id})"


def signed_headers(url: str, body: bytes, *, keys: Keys, region: str, service: str, at: datetime) -> dict[str, str]:
    """The headers of a signed POST. The host is part of what is signed: the request is worth nothing elsewhere."""
    moment = at.strftime("%Y%m%dT%H%M%SZ")
    headers = {
        "content-type": "application/x-www-form-urlencoded; charset=utf-8",
        "host": urlsplit(url).netloc,
        "x-amz-date": moment,
    }
    if keys.session_token:
        headers["x-amz-security-token"] = keys.session_token
    names = ";".join(sorted(headers))
    request = "\n".join(
        (
            "POST",
            urlsplit(url).path or "/",
            urlsplit(url).query,
            *(f"{name}:{headers[name]}" for name in sorted(headers)),
            "",
            names,
            hashlib.sha256(body).hexdigest(),
        )
    )
    scope = f"{moment[:8]}/{region}/{service}/aws4_request"
    text = "\n".join(("AWS4-HMAC-SHA256", moment, scope, hashlib.sha256(request.encode()).hexdigest()))
    key = f"AWS4{keys.secret_access_key}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), hashlib.sha256)
    signature = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
    headers["authorization"] = (
        f"AWS4-HMAC-SHA256 Credential={keys.access_key_id}/{scope}, SignedHeaders={names}, Signature={signature}"
    )
    return headers
