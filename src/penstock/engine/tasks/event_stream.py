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


def too_large(most: int, whose: str) -> faults.Fault:
    return faults.communication("Answer too large", f"{whose} answered with more than {most:,} bytes; ask for less")


async def lines(chunks: AsyncIterable[bytes]) -> AsyncGenerator[bytes]:
    """Lines without their ends, which may be any of the three. What follows the last end is no line."""
    begun: list[bytes] = []
    async for chunk in chunks:
        begun.append(chunk)
        if b"\n" not in chunk and b"\r" not in chunk:
            continue  # joined only when a line ends: a long one that comes in drops costs no more than a short one
        text = b"".join(begun)
        whole = text.splitlines(keepends=True)
        # A last "\r" may be the half of "\r\n".
        begun = [] if whole[-1].endswith(b"\n") else [whole.pop()]
        for line in whole:
            yield line.rstrip(b"\r\n")
    if begun and (text := b"".join(begun)).endswith(b"\r"):
        yield text[:-1]


async def events(chunks: AsyncIterable[bytes]) -> AsyncGenerator[bytes]:
    """The data of each event; what has none says nothing."""
    data: list[bytes] = []
    async for line in lines(chunks):
        if line.startswith(b"data:"):
            data.append(line[5:].removeprefix(b" "))
        elif not line and data:
            yield b"\n".join(data)
            data = []
