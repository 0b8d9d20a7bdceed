"""What may become of a secret. Its value goes one way: into the vault."""

import re

import msgspec

from penstock.http.edge import Call
from penstock.platform import audit
from penstock.platform.access import Access
from penstock.platform.members.queries import KEEP
from penstock.platform.parts import Parts
from penstock.platform.secrets import queries
from penstock.platform.secrets.queries import Secret, secret_from
from penstock.platform.secrets.vault import NotOpened, Vault
from penstock.platform.texts import invalid
from penstock.problems import NotFound
from penstock.storage import Database, now

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,127}", re.ASCII)
_LONGEST_VALUE = 64 * 1024
_BATCH = 100
_BEFORE_ALL = "00000000-0000-0000-0000-000000000000"


class SecretValue(msgspec.Struct, forbid_unknown_fields=True):
    value: str

    def __repr__(self) -> str:
        return "SecretValue(********)"


class Rotated(msgspec.Struct, frozen=True):
    resealed: int
    not_opened: list[str]
    """Sentences: which secret, and what to do."""


async def read(parts: Parts, project_id: str, name: str) -> Secret:
    row = await parts.database.one(queries.FIND, project_id=project_id, name=name) if _NAME.fullmatch(name) else None
    if row is None:
        raise NotFound("there is no such secret")
    return secret_from(row)


async def put(parts: Parts, call: Call, access: Access, project_id: str, name: str, value: str) -> tuple[Secret, bool]:
    """The secret, and whether it is new."""
    if not _NAME.fullmatch(name):
        raise invalid("name", "expected a letter or _, then letters, digits, _, . and -; 128 characters at most")
    if len(value.encode()) > _LONGEST_VALUE:
        raise invalid("value", f"may have {_LONGEST_VALUE} bytes at most")
    sealed = parts.vault.seal(project_id, name, value)
    async with parts.database.transaction() as tx:
        if await tx.one(KEEP["project"], id=project_id) is None:
            raise NotFound("there is no such project")
        row = await tx.one(
            queries.PUT,
            project_id=project_id,
            name=name,
            key_id=parts.vault.key_id,
            value=sealed,
            updated_by=access.caller.id,
            now=now(),
        )
        assert row is not None  # noqa: S101
        *told, is_new = row
        verb = "create" if is_new else "update"
        await audit.by(tx, call, access, f"secret.{verb}", name, {"project_id": project_id})
    return secret_from(told), bool(is_new)


async def delete(parts: Parts, call: Call, access: Access, project_id: str, name: str) -> None:
    async with parts.database.transaction() as tx:
        if not _NAME.fullmatch(name) or not await tx.run(queries.DELETE, project_id=project_id, name=name):
            raise NotFound("there is no such secret")
        await audit.by(tx, call, access, "secret.delete", name, {"project_id": project_id})


async def rotate(database: Database, vault: Vault) -> Rotated:
    """Seal with the present key whatever another sealed, a batch at a time; what cannot be opened stays as it is."""
    resealed, not_opened = 0, []
    project_id, name = _BEFORE_ALL, ""
    while True:
        async with database.transaction() as tx:
            rows = await tx.all(
                queries.SEALED_WITH_ANOTHER_KEY,
                key_id=vault.key_id,
                after_project=project_id,
                after_name=name,
                limit=_BATCH,
            )
            # The last of them is where the next batch begins.
            for project_id, name, key_id, value in rows:
                try:
                    plain = vault.unseal(project_id, name, key_id, bytes(value))
                except NotOpened as error:
                    not_opened.append(str(error))
                    continue
                resealed += await tx.run(
                    queries.RESEAL,
                    project_id_=project_id,
                    name_=name,
                    before=bytes(value),
                    key_id=vault.key_id,
                    value=vault.seal(project_id, name, plain),
                )
        if len(rows) < _BATCH:
            return Rotated(resealed, not_opened)
