"""A request and what comes of it: authentication, redirects, the statuses that are errors, and the task's output.

`redirect: true` follows redirects, ten at most, and whatever the last one answers counts when it is
between 200 and 399. Without it a redirect is an error, as any status outside 200 to 299 is.
"""

import re
import time
from base64 import b64encode
from collections.abc import Mapping
from http.client import responses
from typing import Any, Literal

import msgspec
from multidict import CIMultiDict
from yarl import URL

from penstock.engine.faults import Fault, communication, validation
from penstock.engine.tasks import authentication
from penstock.engine.tasks.addresses import exact, is_http, shown, without_user
from penstock.engine.tasks.authentication import Policy, certificate, digest
from penstock.engine.tasks.content import decoded, is_json, is_text, text_of
from penstock.engine.tasks.pool import Answer
from penstock.engine.tasks.secrets import MASK
from penstock.engine.tasks.work import Authorization, Performed, Work

Output = Literal["raw", "content", "response"]
_MOST_REDIRECTS = 10
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_EXCERPT = 500
# Meant for the host that they were given for, and for nobody whom it sends us to.
_PERSONAL = ("Authorization", "Cookie", "Proxy-Authorization")


class Call(msgspec.Struct, frozen=True):
    method: str
    url: URL
    headers: CIMultiDict[str]
    body: bytes | None = None
    policy: Mapping[str, Any] | None = None
    output: Output = "content"
    redirect: bool = False


class Request(msgspec.Struct, frozen=True):
    method: str
    url: URL
    headers: CIMultiDict[str]
    body: bytes | None
    policy: Policy | None


class Exchanged(msgspec.Struct, frozen=True):
    request: Request
    answer: Answer
    authorization: Authorization | None


def output_of(arguments: Mapping[str, Any]) -> Output:
    match arguments.get("output"):
        case None | "content":
            return "content"
        case "raw":
            return "raw"
        case "response":
            return "response"
        case _:
            raise validation("Output not known", "`output` is one of raw, content and response")


async def exchange(call: Call, work: Work) -> Performed:
    done = await answered(call, work)
    return Performed(_output(call.output, done), done.authorization)


async def answered(call: Call, work: Work) -> Exchanged:
    """A fault when the answer's status is one that `redirect` makes an error."""
    policy = authentication.read(call.policy, work.secrets) if call.policy is not None else None
    began = time.perf_counter()
    place = f"{call.method.upper()} {shown(call.url)}"
    try:
        done = await _followed(Request(call.method, call.url, call.headers, call.body, policy), call.redirect, work)
    except Fault as fault:
        work.says("warn", f"{place} → {fault.error.title}", ms=_since(began))
        raise
    status = done.answer.status
    good = 200 <= status < (400 if call.redirect else 300)
    work.says("info" if good else "warn", f"{place} → {status}", status=status, ms=_since(began))
    if not good:
        raise _error(done, place, work)
    return done


async def _followed(request: Request, redirect: bool, work: Work) -> Exchanged:
    done = await _authenticated(request, work)
    hops = 0
    while redirect and done.answer.status in _REDIRECTS and (location := done.answer.headers.get("Location")):
        hops += 1
        if hops > _MOST_REDIRECTS:
            raise communication(
                "Too many redirects", f"{shown(request.url)} leads to more than {_MOST_REDIRECTS} redirects"
            )
        following = await _authenticated(_next(done.request, done.answer.status, location), work)
        done = Exchanged(following.request, following.answer, done.authorization or following.authorization)
    return done


def _next(request: Request, status: int, location: str) -> Request:
    try:
        url = without_user(request.url.join(exact(location)).with_fragment(None))
        usable = is_http(url)
    except ValueError:
        usable, url = False, URL()
    if not usable:
        raise communication("Redirect not usable", f"{shown(request.url)} redirects to what is no HTTP address")
    method, headers, body = request.method, request.headers.copy(), request.body
    becomes_get = status == 303 or (status in (301, 302) and method.upper() == "POST")
    if becomes_get and method.upper() not in ("GET", "HEAD"):
        method, body = "get", None
        for name in ("Content-Type", "Content-Encoding", "Content-Language"):
            headers.popall(name, None)
    policy = request.policy
    if url.origin() != request.url.origin():
        policy = None
        for name in _PERSONAL:
            headers.popall(name, None)
    return Request(method, url, headers, body, policy)


async def _authenticated(request: Request, work: Work) -> Exchanged:
    policy, http = request.policy, work.tools.http
    if policy is None:
        return await _sent(request, None, work)
    if policy.scheme == "certificate":
        tls = await certificate.context(policy, http)
        answer = await http.send(
            request.method, request.url, request.headers, request.body, tls=tls, seconds=work.seconds
        )
        return Exchanged(request, answer, None)
    if policy.scheme == "digest":
        return await _digested(request, policy, work)
    proof = await authentication.authorization(policy, work)
    done = await _sent(request, proof, work)
    if done.answer.status == 401 and authentication.refused(policy, proof, work):
        done = await _sent(request, await authentication.authorization(policy, work), work)
    return done


async def _digested(request: Request, policy: Policy, work: Work) -> Exchanged:
    policy.needed("username")
    done = await _sent(request, None, work)
    if done.answer.status != 401:
        return done
    challenges = done.answer.headers.getall("WWW-Authenticate", [])
    proof = digest.authorization(policy, challenges, request.method, request.url)
    return await _sent(request, proof, work) if proof is not None else done


async def _sent(request: Request, proof: Authorization | None, work: Work) -> Exchanged:
    if proof is not None:
        headers = request.headers.copy()
        headers["Authorization"] = f"{proof.scheme} {proof.parameter}"
        request = msgspec.structs.replace(request, headers=headers)
    answer = await work.tools.http.send(
        request.method, request.url, request.headers, request.body, seconds=work.seconds
    )
    return Exchanged(request, answer, proof)


def _error(done: Exchanged, place: str, work: Work) -> Fault:
    answer = done.answer
    detail = f"{place} answered {answer.status}"
    if answer.status in _REDIRECTS and (location := answer.headers.get("Location")):
        detail += f" and redirects to {_place(location)}; `redirect: true` would follow it"
    elif said := _excerpt(answer):
        detail += f": {said}"
    title = answer.reason or responses.get(answer.status, "Error")
    return communication(title[:200], work.secrets.mask_text(detail), status=answer.status)


def _place(location: str) -> str:
    return re.sub(r"[?#].*|(?<=//)[^/]*@", "", location)[:200]


def _excerpt(answer: Answer) -> str:
    kind = answer.content_type
    if not is_text(kind) and not is_json(kind):
        return ""
    return text_of(answer.body[: 4 * _EXCERPT], kind)[:_EXCERPT].strip()


def _output(output: Output, done: Exchanged) -> Any:
    answer = done.answer
    match output:
        case "raw":
            return b64encode(answer.body).decode() if answer.body else None
        case "content":
            return decoded(answer.body, answer.content_type)
        case "response":
            return {
                "request": {
                    "method": done.request.method,
                    "uri": str(done.request.url),
                    "headers": _shown_headers(done.request.headers, hide=_PERSONAL),
                },
                "statusCode": answer.status,
                "headers": _shown_headers(answer.headers),
                "content": decoded(answer.body, answer.content_type),
            }


def _shown_headers(headers: Mapping[str, str], hide: tuple[str, ...] = ()) -> dict[str, str]:
    """Each name once and always in the same spelling (`Content-Type`), whatever the server's: paths rely on it."""
    found: dict[str, str] = {}
    for name, value in headers.items():
        spelled = "-".join(part.capitalize() for part in name.split("-"))
        text = MASK if spelled in hide else value
        found[spelled] = f"{found[spelled]}, {text}" if spelled in found else text
    return found


def _since(began: float) -> int:
    return round((time.perf_counter() - began) * 1000)
