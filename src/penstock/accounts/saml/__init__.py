"""SAML 2.0 sign-in as a service provider: metadata, signed requests, verified assertions.

No database, no web and no session in here: who calls keeps the keypair, the providers, the requests under way and the
assertions already used. Every function is synchronous and computes; call them in a thread. None keeps state.
"""

from .errors import SamlError
from .identity import speaks_for
from .keys import Keypair, make_keypair
from .metadata import IdentityProvider, ServiceProvider, read_metadata, service_provider_metadata
from .request import begin
from .response import Assertion, peek, verify

__all__ = [
    "Assertion",
    "IdentityProvider",
    "Keypair",
    "SamlError",
    "ServiceProvider",
    "begin",
    "make_keypair",
    "peek",
    "read_metadata",
    "service_provider_metadata",
    "speaks_for",
    "verify",
]
