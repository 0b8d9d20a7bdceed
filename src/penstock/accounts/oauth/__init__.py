"""Signing in through other people's identity providers: OAuth 2.0 and OpenID Connect, as a client.

Storage, sessions, routes and the rule that links an identity to an account are left to the rest of `accounts`.
"""

from penstock.accounts.oauth.client import OAuthClient
from penstock.accounts.oauth.destination import safe_next
from penstock.accounts.oauth.errors import OAuthError, ProviderDown, Refused, UnknownProvider
from penstock.accounts.oauth.identity import Identity
from penstock.accounts.oauth.pending import Pending, seal, unseal

__all__ = [
    "Identity",
    "OAuthClient",
    "OAuthError",
    "Pending",
    "ProviderDown",
    "Refused",
    "UnknownProvider",
    "safe_next",
    "seal",
    "unseal",
]
