"""SAML: metadata that describes one identity provider, with a signing certificate that has not expired."""

import asyncio
from datetime import UTC, datetime
from typing import Any

from cryptography import x509

from penstock.accounts.saml import IdentityProvider, SamlError, read_metadata
from penstock.egress import Egress
from penstock.platform.iam import config
from penstock.platform.iam.probe import Outcome, ProbeFailed


class Saml:
    async def test(self, settings: dict[str, Any], egress: Egress) -> Outcome:
        from penstock.platform.iam.service import fetch_metadata  # noqa: PLC0415 - it lists the types, us among them

        known = config.read(settings, config.Saml)
        try:
            if known.metadata_xml:
                provider = await asyncio.to_thread(read_metadata, known.metadata_xml)
            else:
                provider = await fetch_metadata(egress, known.metadata_url)
        except SamlError as error:
            raise ProbeFailed(f"the metadata cannot be used: {error}") from error
        return _dated(provider)


def _dated(provider: IdentityProvider) -> Outcome:
    at = datetime.now(UTC)
    ends = [
        certificate.not_valid_after_utc
        for certificate in (x509.load_pem_x509_certificate(pem.encode()) for pem in provider.certificates)
        if certificate.not_valid_before_utc <= at
    ]
    if not ends:
        raise ProbeFailed("the signing certificate in the metadata is not valid yet")
    if max(ends) <= at:
        raise ProbeFailed(f"the signing certificate in the metadata expired on {max(ends):%Y-%m-%d}")
    return Outcome(True, f"the metadata of {provider.entity_id} is usable; its certificate ends {max(ends):%Y-%m-%d}")
