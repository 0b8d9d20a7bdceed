"""What can go wrong while a provider tells us who somebody is.

    OAuthError
    ├── Refused             the person, the code or the token is not accepted: 400
    │   └── UnknownProvider no provider of that name is configured: 404
    └── ProviderDown        the provider could not answer, or answered nonsense: 502

Messages are for a person: they never hold a token, a secret or a provider's own text.
"""


class OAuthError(Exception):
    """Sign-in through a provider did not succeed."""


class Refused(OAuthError):
    """The code, token, state or identity is not accepted."""


class UnknownProvider(Refused):
    """No such provider is configured."""


class ProviderDown(OAuthError):
    """The provider was unreachable, too slow, failing, or its answer made no sense."""
