"""Certificate authentication: mutual TLS with a certificate and its key, which a secret has as PEM.

The DSL names the scheme and says nothing of its members. Ours: `certificate` (the chain, and the key too when it is
all in one text), `key`, `passphrase` of the key, and `authority` for a server whose own certificate is private.
"""

import asyncio
import hashlib
import ssl
import tempfile
from pathlib import Path

from penstock.engine.tasks.authentication.policy import Policy
from penstock.engine.tasks.pool import Http

_KEPT_SECONDS = 3600.0


async def context(policy: Policy, http: Http) -> ssl.SSLContext:
    """Kept, because connections are pooled by their context, and making one takes tens of milliseconds."""
    parts = [policy.text(name) or "" for name in ("certificate", "key", "passphrase", "authority")]
    if not parts[0]:
        raise policy.fault("it lacks `certificate`, the chain as PEM; `key` is its private key")

    async def make(_: ssl.SSLContext | None) -> tuple[ssl.SSLContext, float]:
        try:
            return await asyncio.to_thread(_made, *parts), _KEPT_SECONDS
        except (ssl.SSLError, ValueError, OSError) as error:
            raise policy.fault(
                "its `certificate`, `key` or `authority` is no PEM, they do not belong together, "
                "or the `passphrase` of the key is wrong"
            ) from error

    return await http.certificates.get(hashlib.sha256("\0".join(parts).encode()).hexdigest(), make)


def _made(certificate: str, key: str, passphrase: str, authority: str) -> ssl.SSLContext:
    made = ssl.create_default_context(cadata=authority or None)
    # OpenSSL's interface in Python takes files only. The directory is ours alone, and gone a moment later.
    with tempfile.TemporaryDirectory(prefix="penstock-") as directory:
        file = Path(directory, "certificate.pem")
        file.touch(mode=0o600)
        file.write_text(f"{certificate}\n{key}\n", encoding="utf-8")
        # One given always: without one, OpenSSL would ask at the terminal.
        made.load_cert_chain(file, password=lambda: passphrase)
    return made
