"""Every setting: its type, its meaning, and where its value came from.

A setting is read from the environment (`PENSTOCK_PORT=80`), else from `penstock.toml` (`port = 80`), else it has
its default. Members of tables are reached with two underscores: `PENSTOCK_OAUTH_PROVIDERS__GITHUB__CLIENT_ID`.
A value that does not fit stops the start with the setting's name and what was expected.
"""

from penstock.settings.declared import EGRESS_DENY, Settings
from penstock.settings.fitting import PREFIX
from penstock.settings.loading import FILE, Loaded, load
from penstock.settings.providers import Kind, OAuthProvider, SamlProvider
from penstock.settings.values import Duration, Secret, SettingsError, TrustedProxies

__all__ = [
    "EGRESS_DENY",
    "FILE",
    "PREFIX",
    "Duration",
    "Kind",
    "Loaded",
    "OAuthProvider",
    "SamlProvider",
    "Secret",
    "Settings",
    "SettingsError",
    "TrustedProxies",
    "load",
]
