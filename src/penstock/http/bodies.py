"""Reads the bodies of `/user/*`: form data or JSON of the same members, every value plain text in the end."""

import json
import re
from typing import Any, TypeVar
from urllib.parse import parse_qsl

import msgspec
from litestar import Request
from litestar.datastructures import UploadFile

from penstock.dsl.depth import DEEPEST, too_deep
from penstock.http.answers import call_of
from penstock.problems import FieldError, Invalid, WrongType

T = TypeVar("T", bound=msgspec.Struct)
_MOST_FIELDS = 50
_MISSING = re.compile(r"Object missing required field `(.+)`")


class _Nothing(msgspec.Struct, forbid_unknown_fields=True):
    pass


class Form(dict[str, str]):
    """Fields by name. What is absent is an empty string."""

    def text(self, name: str) -> str:
        return self.get(name, "")

    def flag(self, name: str) -> bool:
        return self.get(name, "").strip().lower() in {"1", "true", "on", "yes"}


async def read_body(request: Request[Any, Any, Any]) -> bytes:
    """All of it, for whoever asks again, too. Litestar's own way is through a stream."""
    scope: Any = request.scope
    body: bytes | None = scope.get("body")
    if body is None:
        chunks, more = [], True
        while more:
            message: Any = await request.receive()
            if message["type"] == "http.disconnect":
                raise Invalid("the caller left before the body was whole")
            chunks.append(message.get("body", b""))
            more = message.get("more_body", False)
        body = scope["body"] = b"".join(chunks)
    return body


def _media_type(request: Request[Any, Any, Any]) -> str:
    return call_of(request).header(b"content-type").partition(";")[0].strip().lower()


async def read_form(request: Request[Any, Any, Any], *texts: str, flags: tuple[str, ...] = ()) -> Form:
    """The fields of a form, or the same as members of a JSON object, where others than these are a mistake."""
    kind = _media_type(request)
    if kind == "application/x-www-form-urlencoded":
        return parse_query(await read_body(request))
    if kind == "multipart/form-data":
        return await _multipart(request)
    if kind == "application/json":
        return _from_json(await read_body(request), texts, flags)
    if not kind and not await read_body(request):
        return Form()
    raise WrongType("send application/x-www-form-urlencoded, multipart/form-data or application/json")


async def read_optional_json(request: Request[Any, Any, Any], kind: type[T]) -> T:
    """The same, but no body is one without members."""
    return await read_json(request, kind) if await read_body(request) else kind()


async def read_nothing(request: Request[Any, Any, Any]) -> None:
    """Where there is nothing to say: what was said all the same was meant to do something."""
    await read_optional_json(request, _Nothing)


async def read_json(request: Request[Any, Any, Any], kind: type[T]) -> T:
    """A JSON body of exactly these members; what is wrong with it is said member by member."""
    if _media_type(request) != "application/json":
        raise WrongType("send application/json")
    members = _json_object(await read_body(request))
    for name in members.keys() - set(kind.__struct_encode_fields__):
        raise _wrong(name, "no such member")
    try:
        return msgspec.convert(members, kind)
    except msgspec.ValidationError as error:
        raise _misfit(error) from error


def _misfit(error: msgspec.ValidationError) -> Invalid:
    """`Expected `str`, got `int` - at `$.a.b[0]`` as a JSON pointer and a sentence."""
    message, _, where = str(error).partition(" - at `$")
    path = where.removesuffix("`").replace("[", "/").replace("]", "").replace(".", "/")
    if missing := _MISSING.fullmatch(message):
        errors = [FieldError(path + pointer(missing[1]), "is missing")]
        return Invalid(f"the body is not valid: {errors[0].path} is missing", errors=errors)
    return Invalid(
        f"the body is not valid: {message}{f' at {path}' if path else ''}", errors=[FieldError(path, message)]
    )


def pointer(name: str) -> str:
    """A member as a JSON pointer (RFC 6901)."""
    return "/" + name.replace("~", "~0").replace("/", "~1")


def storable(text: str) -> bool:
    """PostgreSQL cannot store a NUL, and a lone surrogate cannot be sent anywhere."""
    return "\0" not in text and (text.isascii() or not any("\ud800" <= one <= "\udfff" for one in text))


def parse_query(text: bytes) -> Form:
    try:
        pairs = parse_qsl(text.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS)
    except (UnicodeDecodeError, ValueError) as error:
        raise _unfit(
            "the query or the form is not valid", "expected percent-encoded UTF-8, 50 fields at most"
        ) from error
    return _once(pairs)


def _once(pairs: list[tuple[str, str]]) -> Form:
    form = Form()
    for name, value in pairs:
        # Two values for one field are a way to show one to a filter and the other to us.
        if name in form:
            raise _wrong(name, "given twice")
        form[name] = _checked(name, value)
    return form


async def _multipart(request: Request[Any, Any, Any]) -> Form:
    try:
        data = await request.form()
    except (ValueError, LookupError) as error:
        # Text that is not in its charset, or in one that nobody knows.
        raise _unfit("the form is not valid", "expected fields of UTF-8 text") from error
    pairs = list(data.multi_items())
    for name, value in pairs:
        if isinstance(value, UploadFile) or not isinstance(value, str):
            raise _wrong(name, "expected text, not a file")
    return _once(pairs)


def _json_object(body: bytes) -> dict[str, Any]:
    """A JSON object, each of its members given once."""
    try:
        # msgspec refuses what is no JSON at all (half a surrogate, a number beyond all floats) and the other tells
        # members that were given twice; neither does both.
        msgspec.json.decode(body)
        members = _decoder.decode(body.decode())
    except (ValueError, RecursionError) as error:
        # Not JSON, not UTF-8, a number of thousands of digits, or brackets nested by the thousand.
        raise _unfit("the body is not JSON", _unreadable(body, error)) from error
    if not isinstance(members, dict):
        raise Invalid("expected a JSON object", errors=[FieldError("", "expected an object")])
    for name, value in members.items():
        # Whoever walks through it later (masking what is noted of it, storing it) would come to the end of the stack.
        if too_deep(value, body):
            raise _wrong(name, f"may be nested {DEEPEST} levels deep")
    return members


def _unfit(what: str, why: str) -> Invalid:
    """All of it is wrong, and no member of it."""
    return Invalid(f"{what}: {why}", errors=[FieldError("", why)])


def _unreadable(body: bytes, error: Exception) -> str:
    if not body.strip():
        return "it is empty"
    if isinstance(error, msgspec.DecodeError):
        # `JSON is malformed: trailing comma in object (byte 12)`
        return str(error).removeprefix("JSON is malformed: ").partition(" - at ")[0]
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8"
    return error.msg if isinstance(error, json.JSONDecodeError) else "it cannot be read"


def _members_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for name, value in pairs:
        if name in members:
            raise _wrong(name, "given twice")
        members[name] = value
    return members


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


_decoder = json.JSONDecoder(object_pairs_hook=_members_once, parse_constant=_refuse_constant)


def _from_json(body: bytes, texts: tuple[str, ...], flags: tuple[str, ...]) -> Form:
    form = Form()
    for name, value in _json_object(body or b"{}").items():
        if name not in texts and name not in flags:
            raise _wrong(name, "no such member")
        match value:
            case None:
                continue
            case str():
                form[name] = _checked(name, value)
            case bool() | int() if name in flags:
                form[name] = str(int(value))
            case _:
                raise _wrong(name, "expected true, false, 1 or 0" if name in flags else "expected text")
    return form


def _checked(name: str, value: str) -> str:
    if not storable(name) or not storable(value):
        raise _wrong(name, "contains a character that cannot be stored")
    return value


def _wrong(name: str, message: str) -> Invalid:
    name = name.encode("utf-8", "replace").decode()  # half a surrogate could not be answered
    return Invalid(f"{name}: {message}", errors=[FieldError(pointer(name), message)])
