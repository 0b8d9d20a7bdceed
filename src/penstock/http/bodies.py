"""Reads the bodies of `/user/*`: form data or JSON of the same members, every value plain text in the end."""

from typing import Any, TypeVar
from urllib.parse import parse_qsl

import msgspec
from litestar import Request
from litestar.datastructures import UploadFile

from penstock.problems import FieldError, Invalid, WrongType

T = TypeVar("T")
_MOST_FIELDS = 50


class Form(dict[str, str]):
    """Fields by name. What is absent is an empty string."""

    def text(self, name: str) -> str:
        return self.get(name, "")

    def flag(self, name: str) -> bool:
        return self.get(name, "").strip().lower() in {"1", "true", "on", "yes"}


async def read_form(request: Request[Any, Any, Any]) -> Form:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/x-www-form-urlencoded":
        return parse_query(await request.body())
    if kind == "multipart/form-data":
        return await _multipart(request)
    if kind == "application/json":
        return _from_json(await request.body())
    if not kind and not await request.body():
        return Form()
    raise WrongType("send application/x-www-form-urlencoded, multipart/form-data or application/json")


async def read_json(request: Request[Any, Any, Any], kind: type[T]) -> T:
    """A JSON body of exactly these members; what is wrong with it is said member by member."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise WrongType("send application/json")
    try:
        return msgspec.json.decode(await request.body(), type=kind)
    except msgspec.ValidationError as error:
        raise _misfit(error) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Invalid(f"the body is not JSON: {error}") from error


def _misfit(error: msgspec.ValidationError) -> Invalid:
    """`Expected `str`, got `int` - at `$.a.b[0]`` as a JSON pointer and a sentence."""
    message, _, where = str(error).partition(" - at `$")
    path = where.removesuffix("`").replace("[", "/").replace("]", "").replace(".", "/")
    return Invalid(
        f"the body is not valid: {message}{f' at {path}' if path else ''}", errors=[FieldError(path, message)]
    )


def storable(text: str) -> bool:
    """PostgreSQL cannot store a NUL, and a lone surrogate cannot be sent anywhere."""
    return "\0" not in text and (text.isascii() or not any("\ud800" <= one <= "\udfff" for one in text))


def parse_query(text: bytes) -> Form:
    try:
        pairs = parse_qsl(text.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS)
    except (UnicodeDecodeError, ValueError) as error:
        raise Invalid("the form data is not valid: percent-encoded UTF-8, 50 fields at most") from error
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
    data = await request.form()
    pairs = list(data.multi_items())
    for name, value in pairs:
        if isinstance(value, UploadFile) or not isinstance(value, str):
            raise _wrong(name, "expected text, not a file")
    return _once(pairs)


def _from_json(body: bytes) -> Form:
    try:
        members = msgspec.json.decode(body or b"{}")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Invalid(f"the body is not JSON: {error}") from error
    if not isinstance(members, dict):
        raise Invalid("expected a JSON object")
    form = Form()
    for name, value in members.items():
        match value:
            case None:
                continue
            case bool():
                form[name] = "1" if value else "0"
            case str() | int():
                form[name] = _checked(name, str(value))
            case _:
                raise _wrong(name, "expected text")
    return form


def _checked(name: str, value: str) -> str:
    if not storable(value):
        raise _wrong(name, "contains a character that cannot be stored")
    return value


def _wrong(name: str, message: str) -> Invalid:
    return Invalid(f"{name}: {message}", errors=[FieldError(f"/{name}", message)])
