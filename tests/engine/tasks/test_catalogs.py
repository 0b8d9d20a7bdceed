"""Functions defined elsewhere: found in catalogs, at addresses, and behind the pages of GitHub and GitLab."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from penstock.engine.faults import STANDARD, Error, Fault
from penstock.engine.tasks import catalogs
from penstock.engine.tasks.work import Work

from .http_peer import served, working

pytestmark = pytest.mark.anyio

DEFINITION = "set:\n  said: ${ .message }\n"


async def function(request: Request) -> Response:
    if request.headers.get("authorization") != "Bearer t":
        return Response("", 403)
    return Response(DEFINITION)


@pytest.fixture(scope="module")
def peer() -> Iterator[str]:
    with served(Starlette(routes=[Route("/cat/functions/log/0.5.2/function.yaml", function)])) as url:
        yield url


async def fault(work: Work, call: str, given: dict[str, Any]) -> Error:
    with pytest.raises(Fault) as raised:
        await catalogs.function(call, given, work)
    return raised.value.error


async def test_a_function_comes_from_its_catalog(peer: str) -> None:
    endpoint = {"uri": f"{peer}/cat/", "authentication": {"bearer": {"token": "t"}}}
    async with working() as work:
        found = await catalogs.function("log:0.5.2@global", {"global": {"endpoint": endpoint}}, work)
        closed = await fault(work, "log:0.5.2@global", {"global": {"endpoint": f"{peer}/cat"}})
        unknown = await fault(work, "log:0.5.3@global", {"global": {"endpoint": endpoint}})
        elsewhere = await fault(work, "log:0.5.2@other", {"global": {"endpoint": endpoint}})
    assert found == {"set": {"said": "${ .message }"}}
    assert (closed.status, unknown.status) == (403, 404)
    assert elsewhere.type == STANDARD + "configuration"


async def test_the_default_catalog_is_a_directory(tmp_path: Path) -> None:
    place = tmp_path / "functions" / "log" / "1.0.0"
    place.mkdir(parents=True)
    (place / "function.yaml").write_text(DEFINITION)
    (tmp_path / "functions" / "log" / "2.0.0").mkdir()
    (tmp_path / "functions" / "log" / "2.0.0" / "function.yaml").write_text("just text")
    (tmp_path / "functions" / "log" / "4.0.0").mkdir()
    (tmp_path / "functions" / "log" / "4.0.0" / "function.yaml").write_text('{"set": "' + "x" * 300_000 + '"}')
    async with working(catalog=tmp_path) as work:
        assert "set" in await catalogs.function("log:1.0.0@default", {}, work)
        text = await fault(work, "log:2.0.0@default", {})
        missing = await fault(work, "log:3.0.0@default", {})
        large = await fault(work, "log:4.0.0@default", {})
    async with working() as work:
        none = await fault(work, "log:1.0.0@default", {})
    assert (text.title, missing.title, large.title) == ("Function not usable", "File not readable", text.title)
    assert str(tmp_path) not in f"{text.detail} {missing.detail} {large.detail}"
    assert none.title == "No default catalog"


@pytest.mark.parametrize(
    ("page", "document"),
    [
        (
            "https://github.com/serverlessworkflow/catalog/tree/main/functions/log/1.0.0/function.yaml",
            "https://raw.githubusercontent.com/serverlessworkflow/catalog/refs/heads/main/functions/log/1.0.0/function.yaml",
        ),
        ("https://github.com/o/r/functions/log/1/function.yaml", "https://raw.githubusercontent.com/o/r/HEAD/functions/log/1/function.yaml"),
        ("https://github.com/o/r/blob/v1.2.0/f.yaml", "https://raw.githubusercontent.com/o/r/v1.2.0/f.yaml"),
        ("https://github.com/myorg/functions/validateEmailAddress@v1.0.0", "https://raw.githubusercontent.com/myorg/functions/v1.0.0/validateEmailAddress/function.yaml"),
        ("https://gitlab.com/g/s/r/-/tree/main/functions/log/1/function.yaml", "https://gitlab.com/g/s/r/-/raw/main/functions/log/1/function.yaml"),
        ("https://gitlab.com/g/r/functions/log/1/function.yaml", "https://gitlab.com/g/r/-/raw/HEAD/functions/log/1/function.yaml"),
        ("https://git.example/g/r/-/blob/main/f.yaml", "https://git.example/g/r/-/raw/main/f.yaml"),
        ("https://gitlab.com/g/r/f@v1.0.0", "https://gitlab.com/g/r/-/raw/v1.0.0/f/function.yaml"),
        ("https://raw.githubusercontent.com/o/r/main/f.yaml", "https://raw.githubusercontent.com/o/r/main/f.yaml"),
    ],
)  # fmt: skip
def test_pages_of_repositories_lead_to_their_documents(page: str, document: str) -> None:
    assert catalogs.address_of(page) == document


@pytest.mark.parametrize("call", ["../../x:1@default", "log:..@default", "log:1/2@default", "log", "log:1"])
def test_a_name_never_leaves_its_catalog(call: str) -> None:
    assert not catalogs.is_elsewhere(call)
