"""Kubernetes: its version, asked with the token and believed by its certificate."""

import ssl
from typing import Any

from penstock.egress import Egress
from penstock.platform.iam import config
from penstock.platform.iam.probe import Outcome
from penstock.platform.iam.probe.http import ask


class Kubernetes:
    async def test(self, settings: dict[str, Any], egress: Egress) -> Outcome:
        known = config.read(settings, config.Kubernetes)
        tls = ssl.create_default_context(cadata=known.ca_certificate or None)
        async with egress.client(tls=tls) as client:
            # An API server that shows its version to anybody still refuses a token that is not its own.
            answer = await ask(
                client,
                "GET",
                known.server.rstrip("/") + "/version",
                headers={"Authorization": f"Bearer {known.token}", "Accept": "application/json"},
            )
        answer.require_success("Kubernetes API")
        version = answer.json("answer of Kubernetes").get("gitVersion")
        shown = version if isinstance(version, str) and len(version) < 64 and version.isprintable() else "unknown"
        return Outcome(True, f"{known.cluster_name or answer.host} answers, version {shown}")
