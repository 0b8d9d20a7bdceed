"""External resources: read once a minute, with the reader's own credentials, from where the server allows."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route

from penstock.engine.faults import STANDARD, Error, Fault
from penstock.engine.tasks import resources
from penstock.engine.tasks.kept import Kept
from penstock.engine.tasks.work import Work

from .http_peer import app as hostile
from .http_peer import served, working

pytestmark = pytest.mark.anyio

asked: list[str] = []


async def schema(request: Request) -> Response:
    asked.append(request.url.path)
    if request.url.path == "/private" and request.headers.get("authorization") != "Bearer good":
        return Response("", 401)
    return Response("type: object\nwhen: on\n", media_type="text/yaml")


async def moved(request: Request) -> RedirectResponse:
    return RedirectResponse("/schema.yaml")


@pytest.fixture(scope="module")
def peer() -> Iterator[str]:
    routes = [Route("/schema.yaml", schema), Route("/private", schema), Route("/moved", moved), Mount("/", hostile)]
    with served(Starlette(routes=routes)) as url:
        yield url


async def fault(work: Work, resource: Any) -> Error:
    with pytest.raises(Fault) as raised:
        await resources.document(resource, work)
    return raised.value.error


async def test_a_document_is_read_once_for_all_who_want_it(peer: str) -> None:
    asked.clear()
    async with working() as work:
        ways: list[Any] = [f"{peer}/schema.yaml", {"endpoint": f"{peer}/schema.yaml"}]
        found = await asyncio.gather(*(resources.document(way, work) for way in ways * 10))
        read = await resources.read({"name": "x", "endpoint": {"uri": f"{peer}/schema.yaml"}}, work)
        moved = await resources.read(f"{peer}/moved", work)
    assert [each.data for each in found] == [{"type": "object", "when": "on"}] * 20
    assert read.text == "type: object\nwhen: on\n"
    assert moved.address == f"{peer}/schema.yaml"
    assert asked == ["/schema.yaml", "/schema.yaml"]


async def test_what_one_may_read_another_may_not(peer: str) -> None:
    async with working() as work:
        good = {"endpoint": {"uri": f"{peer}/private", "authentication": {"bearer": {"token": "good"}}}}
        await resources.document(good, work)
        bad = {"endpoint": {"uri": f"{peer}/private", "authentication": {"bearer": {"token": "bad"}}}}
        assert (await fault(work, bad)).status == 401
        assert (await fault(work, f"{peer}/private")).status == 401


async def test_documents_that_are_none_are_told(peer: str) -> None:
    async with working(answer_bytes=100_000) as work:
        endless = await fault(work, f"{peer}/endless")
        nonsense = await fault(work, f"{peer}/typed?type=text/plain&hex={b'a: [b'.hex()}")
        aliases = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
            f"b{n}: &b{n} [*b{n - 1},*b{n - 1}]\n" for n in range(1, 30)
        )
        bomb = await fault(work, f"{peer}/typed?type=text/plain&hex={aliases.replace('*b0', '*a').encode().hex()}")
        nothing = await fault(work, {"name": "x"})
    assert endless.title == "Answer too large"
    assert nonsense.title == bomb.title == "Document not readable"
    assert nothing.type == STANDARD + "validation"


async def test_files_are_read_only_below_the_directory_that_is_allowed(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in side", tmp_path / "out.json"
    inside.mkdir()
    (inside / "a.json").write_text('{"a": 1}')
    outside.write_text("{}")
    (inside / "link.json").symlink_to(outside)
    async with working(files=inside, answer_bytes=100) as work:
        assert (await resources.document((inside / "a.json").as_uri(), work)).data == {"a": 1}
        (inside / "a.json").write_text("[" + "1," * 100 + "1]")
        too_large = await fault(work, (inside / "a.json").as_uri())
        addresses = [outside.as_uri(), f"{inside.as_uri()}/../out.json", (inside / "link.json").as_uri()]
        refused = [await fault(work, address) for address in [*addresses, inside.as_uri(), "file:///dev/zero"]]
    async with working() as work:
        no_files = await fault(work, (inside / "a.json").as_uri())
    assert too_large.title == "File too large"
    assert {error.title for error in refused} == {"File not readable"}
    assert no_files.title == "Files not allowed"


async def test_what_is_kept_is_bounded_and_ends() -> None:
    now = 0.0
    fetched: list[str] = []

    async def get(text: str) -> str:
        async def fetch(_: str | None) -> tuple[str, float]:
            fetched.append(text)
            return text, 60.0

        return await kept.get(text, fetch)

    kept: Kept[str] = Kept(10, len, lambda: now)
    for text in ("aaaa", "bbbb", "aaaa", "cccc", "aaaa", "bbbb"):
        assert await get(text) == text
    assert fetched == ["aaaa", "bbbb", "cccc", "bbbb"]
    now = 61.0
    await get("bbbb")
    assert fetched[4:] == ["bbbb"]
    kept.stale("bbbb", lambda value: value == "something else")
    await get("bbbb")
    assert len(fetched) == 5
    await kept.close()


async def test_yaml_that_is_no_definition_may_be_longer_than_one_and_has_bounds_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "long.yaml"
    file.write_text("paths:\n" + "".join(f"  /pets/{n}: {{get: {{operationId: get{n}}}}}\n" for n in range(8_000)))
    assert file.stat().st_size > 256 * 1024
    async with working(files=tmp_path) as work:
        assert len((await resources.document(file.as_uri(), work)).data["paths"]) == 8_000
        file.write_text("a: &a [" + "x, " * 1_000 + "]\nb: &b [" + "*a, " * 1_000 + "]\n")
        assert "more than 524,288 values" in (await fault(work, file.as_uri())).message
        monkeypatch.setattr(resources, "_LONGEST_YAML", 1024)
        assert "may have 1 KiB at most" in (await fault(work, file.as_uri())).message
