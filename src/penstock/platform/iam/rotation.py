"""Seals the configurations of identity providers anew, when the key of the secrets has changed."""

from sqlalchemy import bindparam, select, update

from penstock.platform.iam.sealing import resealed
from penstock.platform.secrets.rules import Rotated
from penstock.platform.secrets.vault import NotOpened, Vault
from penstock.storage import Database, Statement
from penstock.storage.platform_tables import iam_providers

_NEXT = Statement(
    select(iam_providers.c.id, iam_providers.c.config)
    .where(iam_providers.c.id > bindparam("after"))
    .order_by(iam_providers.c.id)
    .limit(100)
)
# Only what is still as it was read: a change by a running server wins.
_RESEAL = Statement(
    update(iam_providers)
    .where(iam_providers.c.id == bindparam("id_"), iam_providers.c.config == bindparam("before"))
    .values(config=bindparam("sealed"))
)
_BEFORE_ALL = "00000000-0000-0000-0000-000000000000"


async def rotate(database: Database, vault: Vault) -> Rotated:
    done, not_opened, after = 0, [], _BEFORE_ALL
    while True:
        async with database.transaction() as tx:
            rows = await tx.all(_NEXT, after=after)
            for id_, config in rows:
                after = id_
                try:
                    sealed = resealed(vault, id_, config)
                except (NotOpened, ValueError):
                    not_opened.append(f"the identity provider {id_} was sealed with another key; send its config anew")
                    continue
                if sealed is not None:
                    done += await tx.run(_RESEAL, id_=id_, before=config, sealed=sealed)
        if not rows:
            return Rotated(done, not_opened)
