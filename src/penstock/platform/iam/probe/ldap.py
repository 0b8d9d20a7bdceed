"""LDAP: binding with the configured name and finding the configured base; and signing people in with a password."""

from typing import Any

from penstock.egress import Egress
from penstock.platform.iam import config, directory
from penstock.platform.iam.person import Person
from penstock.platform.iam.probe import Outcome


class Ldap:
    async def test(self, settings: dict[str, Any], egress: Egress) -> Outcome:
        known = config.read(settings, config.Ldap)
        found = await directory.call(egress, known, lambda connect: directory.look(connect, known))
        return Outcome(True, f"{'bound as ' + known.bind_dn if known.bind_dn else 'connected'}; found {found}")

    async def authenticate(
        self, settings: dict[str, Any], egress: Egress, username: str, password: str
    ) -> Person | None:
        known = config.read(settings, config.Ldap)
        return await directory.call(
            egress, known, lambda connect: directory.sign_in(connect, known, username, password)
        )
