"""A front end on another origin: `https://app.example.com` talks to `https://accounts.example.com`.

The origin is named exactly; it may then read answers and send the cookie along. In the browser:

    await fetch("https://accounts.example.com/user/auth", {
        method: "POST",
        credentials: "include",
        body: new URLSearchParams({email, password}),
    })

Both hosts must share a site (`app.example.com` and `accounts.example.com`): the session cookie is `SameSite=Lax`, so
browsers do not send it with requests between unrelated sites. Any other origin gets no CORS headers, and is refused
with 403 where it would change something.
"""

import os

from penstock.app import create_app
from penstock.settings import load

settings = load(
    environ={},
    overrides={
        "database": os.environ.get("ACCOUNTS_DATABASE", "sqlite:///var/accounts.db"),
        "public_url": "https://accounts.example.com",
        "cors_origins": ["https://app.example.com"],
        "reset_url": "https://app.example.com/new-password",
    },
).settings
app = create_app(settings)
