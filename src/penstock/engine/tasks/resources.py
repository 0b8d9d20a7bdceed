"""External resources: documents that a workflow names by their address, read with a bound and kept for a minute."""

import asyncio
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.request import url2pathname

import msgspec
from multidict import CIMultiDict
from yarl import URL

from penstock.dsl.parse import NotReadable, parse_document
from penstock.engine import faults
from penstock.engine.tasks import authentication
from penstock.engine.tasks.addresses import endpoint_of, shown, url_of, without_user
from penstock.engine.tasks.content import text_of
from penstock.engine.tasks.exchange import Call, answered
from penstock.engine.tasks.kept import Kept
from penstock.engine.tasks.work import LogLevel, Work

KEPT_SECONDS = 60.0
_MOST_BYTES = 64 * 1024 * 1024
_LONGEST_YAML = 4 * 1024 * 1024  # about a second a megabyte
_PARSED_WEIGHT = 10  # a parsed document takes about as many times its text


class Resource(msgspec.Struct, frozen=True):
    address: str
    """Where it came from, redirects followed, without what may be secret."""
    content: bytes
    content_type: str

    @property
    def text(self) -> str:
        return text_of(self.content, self.content_type)


class Document(msgspec.Struct, frozen=True):
    address: str
    data: Any
    size: int
    notes: dict[str, Any] = msgspec.field(default_factory=dict)
    """What a reader made of the data, by the reader's name: kept as long as the document is."""


class Resources:
    """What was read, kept for all workflows of a server. Made once, and closed with it."""

    def __init__(self) -> None:
        self.read: Kept[Resource] = Kept(_MOST_BYTES, lambda resource: 1000 + len(resource.content))
        self.documents: Kept[Document] = Kept(_MOST_BYTES, lambda document: 1000 + document.size * _PARSED_WEIGHT)

    async def close(self) -> None:
        await self.read.close()
        await self.documents.close()


async def read(resource: Any, work: Work) -> Resource:
    """The content of an `externalResource`: `{endpoint: address | {uri, authentication}}`, or the address alone."""
    address, policy = _endpoint(resource)
    if address.startswith("file:"):
        return await _from_file(address, work)

    async def fetch(_: Resource | None) -> tuple[Resource, float]:
        return await _fetched(address, policy, msgspec.structs.replace(work, says=_silent)), KEPT_SECONDS

    return await work.tools.resources.read.get(_key(address, policy, work), fetch)


async def document(resource: Any, work: Work) -> Document:
    """The same, as data: JSON or YAML."""
    address, policy = _endpoint(resource)
    if address.startswith("file:"):
        return await _parsed(await read(resource, work))

    async def fetch(_: Document | None) -> tuple[Document, float]:
        return await _parsed(await read(resource, work)), KEPT_SECONDS

    return await work.tools.resources.documents.get(_key(address, policy, work), fetch)


def _endpoint(resource: Any) -> tuple[str, Mapping[str, Any] | None]:
    return endpoint_of(resource["endpoint"] if isinstance(resource, Mapping) and "endpoint" in resource else resource)


def _key(address: str, policy: Mapping[str, Any] | None, work: Work) -> str:
    """With the credentials: what one may read, another may not. Only as a hash."""
    proof = authentication.read(policy, work.secrets) if policy is not None else None
    members = [proof.scheme, proof.members] if proof is not None else []
    return hashlib.sha256(msgspec.json.encode([address, members], order="deterministic")).hexdigest()


async def _fetched(address: str, policy: Mapping[str, Any] | None, work: Work) -> Resource:
    headers = CIMultiDict({"Accept": "*/*"})
    done = await answered(Call("GET", without_user(url_of(address)), headers, policy=policy, redirect=True), work)
    if done.answer.status != 200:
        raise faults.communication(
            "Document not there", f"{shown(done.request.url)} answered {done.answer.status} instead of a document"
        )
    return Resource(shown(done.request.url), done.answer.body, done.answer.content_type)


async def _from_file(address: str, work: Work) -> Resource:
    limits = work.tools.limits
    roots = [place for root in (limits.files, limits.catalog) if root is not None for place in _places(root)]
    if not roots:
        raise faults.configuration("Files not allowed", "this server reads no files of its own for a workflow")
    path = Path()
    try:
        path = Path(url2pathname(URL(address).raw_path))
        content = await asyncio.to_thread(_file, path, roots, limits.answer_bytes)
    except (OSError, ValueError) as error:
        # Where the files of the server are is nobody's business.
        known = next((path.relative_to(root) for root in roots if path.is_relative_to(root)), address)
        raise faults.configuration("File not readable", f"{str(known)[:200]} is no file that may be read") from error
    return Resource(address, content, "text/plain")


def _places(root: Path) -> tuple[Path, Path]:
    return root.resolve(), root.absolute()


def _file(path: Path, roots: list[Path], most: int) -> bytes:
    real = path.resolve(strict=True)
    if not real.is_file() or not any(real.is_relative_to(root) for root in roots):
        raise ValueError(path)
    with real.open("rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise faults.configuration("File too large", f"a document may have {most:,} bytes at most")
    return content


async def _parsed(resource: Resource) -> Document:
    return await asyncio.to_thread(_document, resource)


def _document(resource: Resource) -> Document:
    try:
        data = msgspec.json.decode(resource.content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        data = _yaml(resource)
    return Document(resource.address, data, len(resource.content))


def _yaml(resource: Resource) -> Any:
    try:
        return parse_document(resource.text, _LONGEST_YAML)
    except NotReadable as error:
        raise faults.validation(
            "Document not readable",
            f"{resource.address} is neither JSON nor YAML that can be read: line {error.line}: {error.message}",
        ) from error


def _silent(level: LogLevel, message: str, **fields: Any) -> None:
    """Reading is shared, and may end when the execution that began it is long over: it has no log to write to."""
