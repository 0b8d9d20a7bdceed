"""Who an assertion speaks of: its attributes, its email; and whether the provider may speak for that email."""

import re
import unicodedata
from collections.abc import Collection

import idna

from .errors import SamlError
from .metadata import EMAIL_FORMAT
from .parsing import ASSERTION, Element, children, text_of

_UNSPECIFIED = "urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified"
_EMAIL_ATTRIBUTES = {
    "email",
    "emailaddress",
    "mail",
    "urn:oid:0.9.2342.19200300.100.1.3",
    "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress",
}
_LOCAL_PART = re.compile(r'[^\s@"(),:;<>\[\]\\]{1,64}')
_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")


def attributes_of(assertion: Element) -> dict[str, list[str]]:
    """All text values by attribute name. A name that stands twice has the values of both: all of them were signed."""
    found: dict[str, list[str]] = {}
    for statement in children(assertion, ASSERTION + "AttributeStatement"):
        for attribute in children(statement, ASSERTION + "Attribute"):
            name = attribute.get("Name") or ""
            values = children(attribute, ASSERTION + "AttributeValue")
            if any(len(value) for value in values):
                # Universities send a whole NameID as a value: no text, so not for us. An email is always text.
                if name.lower() in _EMAIL_ATTRIBUTES:
                    raise SamlError("The email in the assertion has other elements in its text.")
                values = [value for value in values if not len(value)]
            found.setdefault(name, []).extend(text_of(value) for value in values)
    return found


def email_of(name_id: str, name_format: str | None, attributes: dict[str, list[str]]) -> str:
    """The subject's email in lower case.

    A NameID whose format may be an email comes first; one of another format (persistent, …) only when there is no
    attribute. Two different addresses among the attributes are refused: which one counts is not ours to guess.
    """
    from_name = {as_email(name_id)}
    from_attributes = {
        as_email(value) for name, values in attributes.items() if name.lower() in _EMAIL_ATTRIBUTES for value in values
    }
    order = [from_name, from_attributes]
    if name_format not in {None, EMAIL_FORMAT, _UNSPECIFIED}:
        order.reverse()
    for emails in order:
        found = emails - {None}
        if len(found) > 1:
            raise SamlError("The assertion names several different email addresses.")
        if found:
            return found.pop() or ""
    raise SamlError("The assertion names no email address.")


def as_email(text: str) -> str | None:
    """The address in lower case; None when it is none that we would send mail to."""
    local, at, domain = text.partition("@")
    if not at or not _LOCAL_PART.fullmatch(local) or len(text) > 254 or _ascii_domain(domain) is None:
        return None
    if any(unicodedata.category(character).startswith("C") for character in text):
        return None
    lowered = text.lower()
    # The Kelvin sign lower-cases to an ASCII k: an address must not turn into another one on its way.
    return lowered if lowered.isascii() == text.isascii() else None


def speaks_for(domains: Collection[str], email: str) -> bool:
    """Whether the email is in one of the domains. Subdomains are others: `a.example` does not own `b.a.example`."""
    if as_email(email) is None:
        return False
    domain = _ascii_domain(email.partition("@")[2])
    return domain is not None and any(_ascii_domain(own) == domain for own in domains)


def _ascii_domain(domain: str) -> str | None:
    """The domain as DNS knows it. Strict IDNA 2008: nothing is mapped, so no two names become the same one."""
    if not domain.isascii():
        try:
            domain = idna.encode(domain, strict=True, std3_rules=True).decode()
        except idna.IDNAError:
            return None
    domain = domain.lower()
    if len(domain) > 253 or "." not in domain or not all(_LABEL.fullmatch(part) for part in domain.split(".")):
        return None
    return domain
