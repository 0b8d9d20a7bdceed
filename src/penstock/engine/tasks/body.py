"""An answer's body as it arrives: unpacked and counted on the way, so that no answer fills the memory."""

import zlib

from penstock.engine.faults import communication

ACCEPTED = "gzip"
_GZIP_OR_ZLIB = 47


class Body:
    """`add` what arrives, then take the `whole`. A fault when it grows beyond `most` bytes, packed or unpacked."""

    def __init__(self, encoding: str, most: int) -> None:
        self._most = most
        self._arrived = 0
        self._parts = bytearray()
        self._unpacker = _unpacker(encoding)

    def add(self, chunk: bytes) -> None:
        self._arrived += len(chunk)
        if self._unpacker is None:
            self._parts += chunk
        else:
            self._unpacker = self._unpacked(self._unpacker, chunk)
        if max(self._arrived, len(self._parts)) > self._most:
            raise communication(
                "Answer too large",
                f"the answer has more than the {self._most:,} bytes that are allowed; ask for less, or raise the limit",
            )

    def whole(self) -> bytes:
        if self._unpacker is not None and self._arrived and not self._unpacker.eof:
            raise communication("Answer incomplete", "the packed answer ended before its end")
        return bytes(self._parts)

    def _unpacked(self, unpacker: "zlib._Decompress", chunk: bytes) -> "zlib._Decompress":
        while chunk and len(self._parts) <= self._most:
            if unpacker.eof:
                unpacker = zlib.decompressobj(wbits=_GZIP_OR_ZLIB)  # gzip may have several members
            try:
                # One byte more than allowed is enough to know: a bomb is never unpacked any further.
                self._parts += unpacker.decompress(chunk, self._most + 1 - len(self._parts))
            except zlib.error as error:
                raise communication("Answer not understood", "the answer says that it is packed, but is not") from error
            chunk = unpacker.unused_data if unpacker.eof else unpacker.unconsumed_tail
        return unpacker


def _unpacker(encoding: str) -> "zlib._Decompress | None":
    match encoding.strip().lower():
        case "" | "identity":
            return None
        case "gzip" | "x-gzip" | "deflate":
            return zlib.decompressobj(wbits=_GZIP_OR_ZLIB)
        case other:
            raise communication(
                "Answer not understood", f"the answer is packed as {other[:40]!r}, which was not asked for ({ACCEPTED})"
            )
