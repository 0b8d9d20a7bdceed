"""The built files of the console, as they lie in the package: which there are, and in which compression to send one."""

import re
from pathlib import Path

import msgspec

STATIC = Path(__file__).parent / "static"
# One segment, nothing hidden: whatever is asked for, it lies in the folder or it does not exist.
_NAME = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)+")
_TYPES = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".json": "application/json",
    ".woff2": "font/woff2",
}
# Best first. The build leaves these beside each file that gets smaller by them.
_ENCODINGS = (("br", ".br"), ("gzip", ".gz"))


class File(msgspec.Struct, frozen=True):
    content: bytes
    media_type: str
    encoding: str = ""


def index() -> str | None:
    """The page that every address of the console begins with; none when the console was not built."""
    try:
        return (STATIC / "index.html").read_text("utf-8")
    except FileNotFoundError:
        return None


def read(folder: Path, name: str, accepted: str) -> File | None:
    media_type = _TYPES.get(Path(name).suffix)
    if media_type is None or not _NAME.fullmatch(name):
        return None
    offered = {part.partition(";")[0].strip().lower() for part in accepted.split(",")}
    for encoding, suffix in _ENCODINGS:
        if encoding in offered and (path := folder / (name + suffix)).is_file():
            return File(path.read_bytes(), media_type, encoding)
    path = folder / name
    return File(path.read_bytes(), media_type) if path.is_file() else None
