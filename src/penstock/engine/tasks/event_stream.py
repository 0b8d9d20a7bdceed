"""Reading an answer of `text/event-stream`, or of lines: bounded in bytes while it is read."""

from collections.abc import AsyncGenerator, AsyncIterable

from penstock.engine import faults


async def bounded(chunks: AsyncIterable[bytes], most: int, whose: str) -> AsyncGenerator[bytes]:
    """The same chunks, until they are more than is read of one answer."""
    total = 0
    async for chunk in chunks:
        total += len(chunk)
        if total > most:
            raise too_large(most, whose)
        yield chunk


async def _limited(chunks: AsyncIterable[bytes], most: int, whose: str) -> AsyncGenerator[bytes]:
    """The same chunks, for as long as no line of theirs is longer: the stream itself may go on for ever."""
    length = 0
    async for chunk in chunks:
        end = max(chunk.rfind(b"\n"), chunk.rfind(b"\r"))
        length = len(chunk) - end - 1 if end >= 0 else length + len(chunk)
        if length > most:
            raise too_large(most, whose)
        yield chunk


def too_large(most: int, whose: str) -> faults.Fault:
    return faults.communication("Answer too large", f"{whose} answered with more than {most:,} bytes; ask for less")


async def lines(chunks: AsyncIterable[bytes], most: int, whose: str) -> AsyncGenerator[bytes]:
    """Lines without their ends, which may be any of the three."""
    begun: list[bytes] = []
    async for chunk in _limited(chunks, most, whose):
        begun.append(chunk)
        if b"\n" not in chunk and b"\r" not in chunk:
            continue  # joined only when a line ends: a long one that comes in drops costs no more than a short one
        text = b"".join(begun)
        whole = text.splitlines(keepends=True)
        # A last "\r" may be the half of "\r\n".
        begun = [] if whole[-1].endswith(b"\n") else [whole.pop()]
        for line in whole:
            yield line.rstrip(b"\r\n")
    if begun:
        yield b"".join(begun).rstrip(b"\r")


async def events(chunks: AsyncIterable[bytes], most: int, whose: str) -> AsyncGenerator[bytes]:
    """The data of each event, none of which is larger; what has no data says nothing."""
    data: list[bytes] = []
    size = 0
    async for line in lines(chunks, most, whose):
        if line.startswith(b"data:"):
            data.append(line[5:].removeprefix(b" "))
            # One more for each line: an event of endless empty lines is large, too.
            size += len(data[-1]) + 1
            if size > most:
                raise too_large(most, whose)
        elif not line and data:
            yield b"\n".join(data)
            data, size = [], 0
