"""Roles, rising: who has one has every lower one too."""

from enum import IntEnum

from penstock.problems import FieldError, Invalid


class Role(IntEnum):
    VIEWER = 1
    EDITOR = 2
    ADMIN = 3
    OWNER = 4

    @property
    def label(self) -> str:
        return self.name.lower()


def parse_role(text: str) -> Role:
    for role in Role:
        # Not by `upper()`: the Turkish dotless i turns into an I.
        if text == role.label:
            return role
    message = "expected viewer, editor, admin or owner"
    raise Invalid(f"role: {message}", errors=[FieldError("/role", message)])
