"""Behind a reverse proxy that ends TLS: Penstock believes its headers, and nobody else's.

With nginx at 10.0.0.2:

    location / {
        proxy_pass http://10.0.0.3:8080;
        proxy_set_header Host $host;
        proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
        proxy_set_header X-Forwarded-Proto $scheme;
        proxy_set_header X-Forwarded-Host $host;
    }

From these come the `Secure` of the cookie, the address that rate limits count, and the callback to register at a
social provider, here `https://shop.example/user/oauth/callback/provider_b`. `public_url`, when set, wins over all.
"""

import os

from penstock.app import create_app
from penstock.settings import load

settings = load(
    environ={},
    overrides={
        "database": os.environ.get("ACCOUNTS_DATABASE", "sqlite:///var/accounts.db"),
        "trusted_proxies": ["10.0.0.2/32"],
        "oauth_providers": {
            "provider_b": {
                "client_id": "id-from-the-provider",
                "client_secret": "secret-from-the-provider",
                "kind": "oauth2",
                "auth_url": "https://provider.example/authorize",
                "token_url": "https://provider.example/token",
                "user_info_url": "https://provider.example/me",
            }
        },
    },
).settings
app = create_app(settings)
