"""Batches of Kafka's messages are unpacked to a bound: whoever may write to a topic may write a few bytes there that
become gigabytes. aiokafka unpacks all that there is, and asks nobody: its functions for that are replaced by these.
"""

import zlib
from collections.abc import Callable
from sys import modules

import cramjam
from aiokafka.codec import snappy_decode
from aiokafka.record.default_records import DefaultRecordBatch
from aiokafka.record.legacy_records import LegacyRecordBatch

from penstock.engine.tasks.event_stream import too_large

MOST = 32 * 1024 * 1024
_USUAL = 64  # seldom do messages become so many times as long
_XERIAL = b"\x82SNAPPY\0"
_XERIAL_HEADER = 16
_GZIP = 31


def unpacked_to_a_bound() -> None:
    """From now on. They are looked up where the classes are, each time."""
    own = {"gzip_decode": _gzip, "snappy_decode": _snappy, "lz4_decode": _lz4, "zstd_decode": _zstd}
    for batch in (DefaultRecordBatch, LegacyRecordBatch):
        vars(modules[batch.__module__]).update(own)


def _gzip(packed: bytes) -> bytes:
    reader = zlib.decompressobj(_GZIP)
    unpacked = reader.decompress(packed, MOST)
    if not reader.eof:
        raise too_large(MOST, "a batch of messages")
    return unpacked


def _snappy(packed: bytes) -> bytes:
    if sum(cramjam.snappy.decompress_raw_len(block) for block in _blocks(packed)) > MOST:
        raise too_large(MOST, "a batch of messages")
    return bytes(snappy_decode(packed))


def _blocks(packed: bytes) -> list[bytes]:
    if not packed.startswith(_XERIAL):
        return [packed]
    blocks, at = [], _XERIAL_HEADER
    while at < len(packed):
        size = int.from_bytes(packed[at : at + 4])
        blocks.append(packed[at + 4 : at + 4 + size])
        at += 4 + size
    return blocks


def _lz4(packed: bytes) -> bytes:
    return _into(cramjam.lz4.decompress_into, packed)


def _zstd(packed: bytes) -> bytes:
    return _into(cramjam.zstd.decompress_into, packed)


def _into(unpack: Callable[[bytes, bytearray], int], packed: bytes) -> bytes:
    for size in (min(_USUAL * (len(packed) + 1024), MOST), MOST):
        room = bytearray(size)
        try:
            return bytes(memoryview(room)[: unpack(packed, room)])
        except cramjam.DecompressionError as error:
            if "whole buffer" not in str(error):
                raise ValueError(f"a batch of messages cannot be unpacked: {error}") from error
    raise too_large(MOST, "a batch of messages")
