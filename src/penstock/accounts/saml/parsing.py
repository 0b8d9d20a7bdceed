"""XML from strangers, parsed so that it cannot hurt: bounded, without DTD, entity or processing instruction.

Nothing here knows what SAML means. Trusting what was read is left to `signature`.
"""

import re
from collections.abc import Iterator
from typing import Protocol, cast

from lxml import etree  # type: ignore[import-untyped]

from .errors import SamlError

ASSERTION = "{urn:oasis:names:tc:SAML:2.0:assertion}"
PROTOCOL = "{urn:oasis:names:tc:SAML:2.0:protocol}"
METADATA = "{urn:oasis:names:tc:SAML:2.0:metadata}"
SIGNATURE = "{http://www.w3.org/2000/09/xmldsig#}"
ENCRYPTION = "{http://www.w3.org/2001/04/xmlenc#}"
XML_ID = "{http://www.w3.org/XML/1998/namespace}id"

MAX_DEPTH = 64
"""A response of a real provider is about 10 deep; recursion in what walks the tree later must stay shallow."""
MAX_ATTRIBUTES = 64
"""Of one element. Canonicalization sorts them in quadratic time: 20,000, which fit in a response, took a minute."""


class Element(Protocol):
    """What we use of an lxml element."""

    tag: str
    text: str | None
    tail: str | None

    def get(self, key: str) -> str | None: ...
    def keys(self) -> list[str]: ...
    def iter(self, tag: str) -> Iterator["Element"]: ...
    def getparent(self) -> "Element | None": ...
    def addnext(self, element: "Element") -> None: ...
    def remove(self, element: "Element") -> None: ...
    def replace(self, old: "Element", new: "Element") -> None: ...
    def __iter__(self) -> Iterator["Element"]: ...
    def __len__(self) -> int: ...


def parse(data: bytes, *, max_size: int, comments: bool = False) -> Element:
    """The root element of `data`. Comments are refused unless the document is a file that a person wrote."""
    if len(data) > max_size:
        raise SamlError(f"The document is larger than {max_size // 1024} KiB.")
    _refuse_dtd(data)
    # The encoding is forced: a declaration of UTF-7 or UTF-16 would hide a DTD from the look above.
    parser = etree.XMLParser(
        encoding="utf-8",
        resolve_entities=False,
        load_dtd=False,
        no_network=True,
        huge_tree=False,
        remove_comments=comments,
    )
    try:
        root = etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        raise SamlError("The document is not well-formed XML.") from error
    if root.getroottree().docinfo.internalDTD is not None:
        raise SamlError("The document has a DTD, which is refused.")
    _refuse_odd_nodes(root)
    return cast(Element, root)


def _refuse_dtd(data: bytes) -> None:
    """Before any parser sees it: entities can expand to gigabytes or read files while a DTD is being parsed."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SamlError("The document is not UTF-8.") from error
    if b"<!DOCTYPE" in data or b"<!ENTITY" in data or b"\0" in data:
        raise SamlError("The document has a DTD or an entity, which are refused.")


def _refuse_odd_nodes(root: etree._Element) -> None:
    """Comments split text nodes: readers see `admin@a.example` where `admin@a.example.evil` was signed."""
    if root.getprevious() is not None or root.getnext() is not None:
        raise SamlError("The document has comments or instructions around its root element.")
    depth = 0
    for event, node in etree.iterwalk(root, events=("start", "end")):
        depth += 1 if event == "start" else -1
        if depth > MAX_DEPTH:
            raise SamlError(f"The document is nested deeper than {MAX_DEPTH} elements.")
        if len(node.attrib) > MAX_ATTRIBUTES:
            raise SamlError(f"The document has an element with more than {MAX_ATTRIBUTES} attributes.")
        if event == "start" and any(not isinstance(child.tag, str) for child in node):
            raise SamlError("The document has a comment, an entity or an instruction, which are refused.")


def canonical(element: Element, prefixes: list[str]) -> bytes:
    """Exclusive canonical XML without comments, as xml-exc-c14n# prescribes."""
    try:
        data = etree.tostring(
            element, method="c14n", exclusive=True, with_comments=False, inclusive_ns_prefixes=prefixes or None
        )
    except etree.C14NError as error:
        # A namespace such as xmlns:a="1" has no canonical form; elsewhere that gave the digest of nothing.
        raise SamlError("The document has no canonical form.") from error
    return cast(bytes, data)


def serialized(element: Element) -> bytes:
    return cast(bytes, etree.tostring(element, with_tail=False))


def attributes(element: Element) -> set[str]:
    return set(element.keys())


def children(element: Element, tag: str) -> list[Element]:
    return [child for child in element if child.tag == tag]


def only(element: Element, tag: str) -> Element:
    """The one child of that name. None or two are refused: which of two is read must not be left to chance."""
    found = children(element, tag)
    if len(found) != 1:
        name = tag.partition("}")[2]
        raise SamlError(f"Expected exactly one {name} element, found {len(found)}.")
    return found[0]


def optional(element: Element, tag: str) -> Element | None:
    return only(element, tag) if children(element, tag) else None


def text_of(element: Element) -> str:
    """The text of an element that has nothing but text."""
    if len(element):
        raise SamlError(f"The {element.tag.partition('}')[2]} element has other elements in its text.")
    return (element.text or "").strip(" \t\r\n")


_ID = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,255}")


def refuse_ambiguous_ids(root: Element) -> None:
    """Signatures point at an element by its id: an id that two elements answer to is a wrapping attack."""
    seen: set[str] = set()
    for element in root.iter("*"):
        for name in element.keys():  # noqa: SIM118 (an element is not a mapping)
            if name == XML_ID or (name.startswith("{") and name.rpartition("}")[2].lower() == "id"):
                raise SamlError("The document has an id in a foreign namespace, which is refused.")
            if name.lower() != "id":
                continue
            value = element.get(name) or ""
            if not _ID.fullmatch(value):
                raise SamlError("The document has an id that is not a plain XML name.")
            if value in seen:
                raise SamlError("The document has the same id twice.")
            seen.add(value)
