"""Functions that are defined elsewhere: in a catalog (`name:version@catalog`), or at an address of their own."""

import re
from collections.abc import Mapping
from typing import Any

from yarl import URL

from penstock.dsl.parse import LONGEST
from penstock.engine import faults
from penstock.engine.tasks.addresses import endpoint_of, url_of
from penstock.engine.tasks.resources import document
from penstock.engine.tasks.work import Work

_PART = r"[A-Za-z0-9][A-Za-z0-9._+-]{0,100}"
_CATALOGED = re.compile(rf"(?P<name>{_PART}):(?P<version>{_PART})@(?P<catalog>{_PART})")
_FILE = "function.yaml"
_DOCUMENT = (".yaml", ".yml", ".json")
# A tag or a commit is named alone; anything else is a branch, which has a longer name that cannot be mistaken.
_NO_BRANCH = re.compile(r"v?\d+(\.\d+)+.*|[0-9a-f]{40}|HEAD|refs")


def is_elsewhere(call: str) -> bool:
    """Whether `call` names a function in a catalog or by its address, and none of the workflow's own."""
    return call.startswith(("https://", "http://", "file://")) or _CATALOGED.fullmatch(call) is not None


async def function(call: str, catalogs: Mapping[str, Any], work: Work) -> Mapping[str, Any]:
    """The definition, a task as plain data. `catalogs` are those of `use.catalogs`, as the workflow gives them."""
    found = await document(_resource(call, catalogs, work), work)
    if not isinstance(found.data, Mapping):
        raise faults.validation("Function not usable", f"{call[:200]} is no definition of a function")
    if found.size > LONGEST:
        raise faults.validation("Function not usable", f"{call[:200]} has more than {LONGEST // 1024} KiB")
    return found.data


def _resource(call: str, catalogs: Mapping[str, Any], work: Work) -> Mapping[str, Any]:
    named = _CATALOGED.fullmatch(call)
    if named is None:
        return {"endpoint": address_of(call)}
    path = f"functions/{named['name']}/{named['version']}/{_FILE}"
    catalog = catalogs.get(named["catalog"])
    if catalog is None and named["catalog"] == "default":
        return {"endpoint": _default(path, work)}
    if not isinstance(catalog, Mapping):
        raise faults.configuration(
            "Catalog not known", f"the workflow has no catalog {named['catalog']!r} in `use.catalogs`"
        )
    root, policy = endpoint_of(catalog.get("endpoint"))
    uri = raw(f"{root.rstrip('/')}/{path}")
    return {"endpoint": {"uri": uri, "authentication": policy}}


def _default(path: str, work: Work) -> str:
    root = work.tools.limits.catalog
    if root is None:
        raise faults.configuration(
            "No default catalog", "this server has no catalog called `default`; name one in `use.catalogs`"
        )
    return (root / path).absolute().as_uri()


def address_of(call: str) -> str:
    """`https://github.com/org/repository/path@v1.0.0` is the function in that folder, at that tag."""
    if call.startswith("file://"):
        return call
    url = url_of(call)
    folder, at, version = url.raw_path.rpartition("@")
    if not at or "/" in version:
        return raw(call)
    if not folder.endswith(_DOCUMENT):
        folder = f"{folder.rstrip('/')}/{_FILE}"
    owner, repository, *rest = [part for part in folder.split("/") if part] + ["", ""]
    between = {"github.com": "tree", "gitlab.com": "-/tree"}.get(url.host or "")
    if between is None:
        raise faults.configuration("Function not found", "`@version` is known for github.com and gitlab.com only")
    return raw(f"{url.origin()}/{owner}/{repository}/{between}/{version}/{'/'.join(part for part in rest if part)}")


def raw(address: str) -> str:
    """The machine-readable document behind a page of GitHub or GitLab; other addresses stay what they are."""
    url = url_of(address)
    parts = [part for part in url.raw_path.split("/") if part]
    if url.host == "github.com" and len(parts) > 2:
        return _github(parts)
    if "-" in parts and parts[parts.index("-") + 1 :][:1] in (["tree"], ["blob"]):
        at = parts.index("-")
        return str(_at(url, [*parts[: at + 1], "raw", *parts[at + 2 :]]))
    if url.host == "gitlab.com" and "-" not in parts and "functions" in parts[2:]:
        at = parts.index("functions", 2)
        return str(_at(url, [*parts[:at], "-", "raw", "HEAD", *parts[at:]]))
    return address


def _github(parts: list[str]) -> str:
    owner, repository, *rest = parts
    if rest[0] in ("tree", "blob", "raw") and len(rest) > 1:
        branch, rest = rest[1], rest[2:]
        reference = branch if _NO_BRANCH.fullmatch(branch) else f"refs/heads/{branch}"
    else:
        reference = "HEAD"
    return "/".join(["https://raw.githubusercontent.com", owner, repository, reference, *rest])


def _at(url: URL, parts: list[str]) -> URL:
    return url.with_path("/" + "/".join(parts), encoded=True)
