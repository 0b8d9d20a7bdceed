"""Somebody whom a company's provider has identified."""

import msgspec

from penstock.accounts import emails

_LONGEST_SUBJECT = 1024
_MOST_GROUPS = 5000


class Person(msgspec.Struct, frozen=True, kw_only=True):
    """`authority` is who vouches for `subject` (an issuer, an entity id, a directory). `email_verified` says that the
    provider knows the email to be theirs. `aliases` are other names that a role mapping may know them by."""

    authority: str
    subject: str
    email: str = ""
    email_verified: bool = False
    name: str = ""
    groups: list[str] = []
    aliases: list[str] = []

    @property
    def identifiers(self) -> set[str]:
        """What a role mapping's `external_identifier` is compared with. An email that anyone could have typed into
        their profile is none."""
        email = {self.email} if self.email and self.email_verified else set()
        return {self.subject, *self.aliases, *self.groups, *email}


def groups_from(value: object) -> list[str]:
    """A claim or an attribute as a list of names; anything else in it is no group."""
    found = value if isinstance(value, list) else [value]
    return [group for group in found[:_MOST_GROUPS] if isinstance(group, str) and group]


def usable_email(text: object) -> str:
    email = emails.canonical(text) if isinstance(text, str) and text.isascii() else None
    return email if email is not None and not email.endswith(".invalid") else ""


def usable_subject(text: str) -> bool:
    return 0 < len(text) <= _LONGEST_SUBJECT and text.isprintable() and bool(text.strip())
