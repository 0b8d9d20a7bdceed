"""Who a provider says somebody is, and how far its words are believed. What an account makes of it is not here."""

import re

import msgspec

from penstock.accounts.oauth.errors import ProviderDown

LONGEST_SUBJECT = 255
LONGEST_NAME = 200

_EMAIL = re.compile(
    r"(?=.{3,254}\Z)[a-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}"
    r"@[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)+"
)


class Identity(msgspec.Struct, frozen=True):
    """A person at a provider. `email` is lower-cased, or "" when the provider gave none that can be used."""

    provider: str
    subject: str
    email: str
    email_verified: bool
    name: str = ""
    claims: dict[str, object] = {}
    """OpenID Connect: everything that the provider said, verified; its id_token goes before its user info."""


def subject_from(value: object) -> str:
    """The person's id. `True` is an int to Python, and control characters are refused by databases."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not value.strip() or len(value) > LONGEST_SUBJECT or not value.isprintable():
        raise ProviderDown("the provider did not say who you are")
    return value


def email_from(value: object) -> str:
    """The address in lower case, else "".

    Only ASCII: lower-casing "ric\N{KELVIN SIGN}@x.example" gives "rick@x.example", which is somebody else.
    Nothing under `.invalid`: that is where accounts without an email live here, and no mail can prove it.
    """
    if not isinstance(value, str) or not value.isascii():
        return ""
    email = value.lower()
    return email if _EMAIL.fullmatch(email) and not email.endswith(".invalid") else ""


def name_from(value: object) -> str:
    if not isinstance(value, str):
        return ""
    return "".join(character for character in value if character.isprintable()).strip()[:LONGEST_NAME]


def is_true(value: object) -> bool:
    """Some providers write booleans as strings. Nothing else counts: not 1, not "yes", not a list."""
    return value is True or value == "true"
