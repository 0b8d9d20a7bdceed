"""Whether a provider works: one file for each type, each a real attempt with the provider's own credentials."""

import msgspec


class Outcome(msgspec.Struct, frozen=True):
    """The answer of POST /iam/providers/{id}/test. `message` never holds a secret or a provider's own words."""

    success: bool
    message: str


class ProbeFailed(Exception):
    """The provider cannot be used as it is configured. The message says why, for a person."""
