"""What a history holds: sealed JSON, and of what is large only the hash; the rest is in our own database."""

import hashlib
from collections.abc import Sequence
from typing import Any

import msgspec
from sqlalchemy import bindparam, select
from sqlalchemy.dialects.postgresql import insert
from temporalio.api.common.v1 import Payload
from temporalio.converter import (
    ActivitySerializationContext,
    BinaryNullPayloadConverter,
    CompositePayloadConverter,
    DataConverter,
    DefaultFailureConverterWithEncodedAttributes,
    EncodingPayloadConverter,
    PayloadCodec,
    SerializationContext,
    WithSerializationContext,
    WorkflowSerializationContext,
)

from penstock.engine.embedded.sealing import Seal
from penstock.engine.temporal.passed import Local
from penstock.storage import Database, Refused, Statement
from penstock.storage.engine_tables import temporal_payloads

_LARGEST = 16 * 1024
_SEALED = b"penstock/sealed"
_KEPT = b"penstock/kept"
_LOCAL = b"json/local"
# What is sealed for Temporal opens nowhere else.
_NAME = "a payload of Temporal"

_KEEP = Statement(
    insert(temporal_payloads)
    .values(execution_id=bindparam("execution_id"), hash=bindparam("hash"), payload=bindparam("payload"))
    .on_conflict_do_nothing()
)
_READ = Statement(
    select(temporal_payloads.c.payload).where(
        temporal_payloads.c.execution_id == bindparam("execution_id"), temporal_payloads.c.hash == bindparam("hash")
    )
)


class PayloadLost(Exception):
    """A payload that a history speaks of is not in the database."""


class _Json(EncodingPayloadConverter):
    @property
    def encoding(self) -> str:
        return "json/plain"

    def to_payload(self, value: Any) -> Payload:
        encoding = _LOCAL if isinstance(value, Local) else b"json/plain"
        return Payload(metadata={"encoding": encoding}, data=msgspec.json.encode(value))

    def from_payload(self, payload: Payload, type_hint: type | None = None) -> Any:
        return msgspec.json.decode(payload.data, type=Any if type_hint is None else type_hint)


class _LocalJson(_Json):
    @property
    def encoding(self) -> str:
        return _LOCAL.decode()


class Converter(CompositePayloadConverter):
    def __init__(self) -> None:
        super().__init__(BinaryNullPayloadConverter(), _Json(), _LocalJson())


class Codec(PayloadCodec, WithSerializationContext):
    def __init__(self, seal: Seal, database: Database, execution_id: str | None = None) -> None:
        self._seal = seal
        self._database = database
        self._execution_id = execution_id

    def with_context(self, context: SerializationContext) -> "Codec":
        if isinstance(context, WorkflowSerializationContext | ActivitySerializationContext):
            return Codec(self._seal, self._database, context.workflow_id)
        return self

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        return [await self._encoded(payload) for payload in payloads]

    async def _encoded(self, payload: Payload) -> Payload:
        if payload.metadata.get("encoding") != b"json/plain":
            return payload
        sealed = self._seal.seal("", _NAME, payload.data.decode())
        key = self._seal.key_id.encode()
        if len(sealed) <= _LARGEST or self._execution_id is None:
            return Payload(metadata={"encoding": _SEALED, "key": key}, data=sealed)
        # By what is in it: when a task of Temporal is done again, the same is kept once.
        hash_ = hashlib.sha256(payload.data).hexdigest()
        try:
            async with self._database.transaction() as tx:
                await tx.run(_KEEP, execution_id=self._execution_id, hash=hash_, payload=key + b":" + sealed)
        except Refused:
            # Its execution was deleted, as it will find when it writes; what is on its way must not keep it from that.
            return Payload(metadata={"encoding": _SEALED, "key": key}, data=sealed)
        place = f"{self._execution_id} {hash_}"
        return Payload(metadata={"encoding": _KEPT}, data=place.encode())

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        return [await self._decoded(payload) for payload in payloads]

    async def _decoded(self, payload: Payload) -> Payload:
        match payload.metadata.get("encoding"):
            case b"penstock/sealed":
                return self._opened(payload.metadata["key"].decode(), payload.data)
            case b"penstock/kept":
                execution_id, _, hash_ = payload.data.decode().partition(" ")
                row = await self._database.one(_READ, execution_id=execution_id, hash=hash_)
                if row is None:
                    raise PayloadLost(f"the payload {hash_} of execution {execution_id} is gone")
                key, _, sealed = bytes(row[0]).partition(b":")
                return self._opened(key.decode(), sealed)
            case _:
                return payload

    def _opened(self, key: str, sealed: bytes) -> Payload:
        text = self._seal.unseal("", _NAME, key, sealed)
        return Payload(metadata={"encoding": b"json/plain"}, data=text.encode())


def data_converter(seal: Seal, database: Database) -> DataConverter:
    return DataConverter(
        payload_converter_class=Converter,
        payload_codec=Codec(seal, database),
        # What an error says may be data, too.
        failure_converter_class=DefaultFailureConverterWithEncodedAttributes,
    )
