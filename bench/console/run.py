"""The order of a run: a server and executions; an empty page, then the console's longest ones, in the same browser."""

import asyncio
import json
import statistics
import tempfile
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import httpx
from playwright.async_api import Browser, BrowserContext, Page
from rich.console import Console
from rich.table import Table
from tests.acceptance.server import running as server_running
from tests.browser import chromium
from tests.browser.conftest import other_build

from bench.accounts.report import machine
from bench.accounts.servers import BenchError
from bench.console.watch import Frames, Opened, opened, scrolled

PARTS = ("first", "scroll", "live")
_PAST = 10_000
# The number of steps is among the facts at the top of every page of an execution.
_CAUGHT_UP = """past => [...document.querySelectorAll("main span")].some(
    one => /^[0-9,]+ steps$/.test(one.textContent) && parseInt(one.textContent.replaceAll(",", "")) > past)"""
_ACCOUNT: dict[str, str | float | bool] = {"email": "ada@example.com", "password": "correct horse battery"}
_HEAD = "document: {dsl: 1.0.3, namespace: bench, name: NAME, version: 1.0.0}\n"
_MANY = (
    _HEAD.replace("NAME", "many")
    + """\
do:
  - rows:
      for: {each: row, in: '[range(5000)]'}
      do:
        - store: {set: '${ {row: $row} }'}
        - check: {set: '${ {ok: true} }'}
"""
)
# Ten thousand steps at once; then fifty each tenth of a second, for as long as it is needed.
_CHATTY = (
    _HEAD.replace("NAME", "chatty")
    + """\
do:
  - past:
      for: {each: row, in: '[range(5000)]'}
      do:
        - store: {set: '${ {row: $row} }'}
        - check: {set: '${ {ok: true} }'}
  - ticks:
      for: {each: tick, in: '[range(3000)]'}
      do:
        - breath: {wait: {milliseconds: 100}}
        - lines:
            for: {each: line, in: '[range(50)]'}
            do: [{say: {set: {said: true}}}]
"""
)


@dataclass(frozen=True)
class Plan:
    seconds: float = 10.0
    loads: int = 5
    """How often the first page is opened, each time by somebody who has never been there."""
    parts: tuple[str, ...] = PARTS


@dataclass(frozen=True)
class Live:
    """A page that follows a run, from ten thousand steps on."""

    frames: Frames
    lines: int
    """That were written meanwhile; there are as many steps, and twice as many events."""

    @property
    def cpu_a_line(self) -> float:
        return self.frames.cpu_each * self.frames.count / max(1, self.lines)


@dataclass(frozen=True)
class Figures:
    first_page: list[Opened]
    frames: list[Frames]
    live: list[Live]


def measure(plan: Plan, console: Console, path: Path) -> None:
    if unknown := set(plan.parts) - set(PARTS):
        raise BenchError(f"no such part: {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    if chromium.found() is None:
        raise BenchError("there is no Chromium: apt install chromium, or CHROMIUM=/path/to/it")
    figures = asyncio.run(_measure(plan, console))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"machine": machine(), "plan": asdict(plan), **asdict(figures)}, indent=2) + "\n")
    _show(figures, console)


def _show(figures: Figures, console: Console) -> None:
    if figures.first_page:
        median = Opened(
            *(statistics.median(getattr(one, name) for one in figures.first_page) for name in Opened.__annotations__)
        )
        console.print(
            f"the first page, median of {len(figures.first_page)} visits: first paint {median.first_paint:.0f} ms, "
            f"with content {median.first_contentful_paint:.0f} ms, largest {median.largest_contentful_paint:.0f} ms; "
            f"{median.script_kib:.0f} KiB of script, gzipped"
        )
    table = Table(title="Frames while the wheel turns, or a run goes on (in brackets: beside the empty page)")
    titles = ("a second", "p50 ms", "p95 ms", "most ms", "CPU ms each", "long tasks", "nodes", "heap MiB", "lines/s")
    for title in ("", *titles, "CPU µs a line"):
        table.add_column(title, justify="left" if not title else "right")
    empty = figures.frames[0]
    for one in figures.frames:
        table.add_row(*_row(one, empty), "", "")
    for page in figures.live:
        rate = page.lines * page.frames.a_second / page.frames.count
        table.add_row(*_row(page.frames, empty), f"{rate:.0f}", f"{page.cpu_a_line * 1000:.0f}")
    console.print(table)


def _row(one: Frames, empty: Frames) -> list[str]:
    return [
        one.title, f"{one.a_second:.0f}", f"{one.p50:.1f}", f"{one.p95:.1f} ({one.p95 / empty.p95:.1f}x)",
        f"{one.most:.0f} ({one.most / empty.most:.1f}x)", f"{one.cpu_each:.1f}",
        f"{one.long_tasks}, {one.longest_task:.0f} ms", f"{one.nodes:,}", f"{one.heap_mib:.0f}",
    ]  # fmt: skip


async def _measure(plan: Plan, console: Console) -> Figures:
    with tempfile.TemporaryDirectory() as folder:
        database = f"sqlite:///{folder}/penstock.db"
        other_build(Path(folder))
        async with (
            server_running(Path(folder), database, auth_rate_limit="1000") as server,
            chromium.running() as browser,
        ):
            url = await server.url()
            first = [await _first_page(browser, url) for _ in range(plan.loads)] if "first" in plan.parts else []
            async with httpx.AsyncClient(base_url=f"{url}/api/v1", timeout=60, trust_env=False) as client:
                project = await _set_up(client)
                context = await browser.new_context(viewport=chromium.DESK)
                await context.request.post(f"{url}/user/auth", form=_ACCOUNT)
                frames = [await _empty(context, plan.seconds)]
                if "scroll" in plan.parts:
                    console.print("ten thousand steps run, and are scrolled over")
                    frames += await _turned(plan, context, url, client, project)
                live = []
                if "live" in plan.parts:
                    console.print("runs go on, and are watched")
                    live = [one async for one in _followed(plan, context, url, client, project)]
                await context.close()
                return Figures(first, frames, live)


async def _first_page(browser: Browser, url: str) -> Opened:
    context = await browser.new_context(viewport=chromium.DESK)
    figures = await opened(await context.new_page(), url)
    await context.close()
    return figures


async def _empty(context: BrowserContext, seconds: float) -> Frames:
    page = await context.new_page()
    await page.set_content("<div style='height: 300000px; background: linear-gradient(#fff, #eee)'></div>")
    frames = await scrolled(page, "an empty page", seconds)
    await page.close()
    return frames


async def _turned(
    plan: Plan, context: BrowserContext, url: str, client: httpx.AsyncClient, project: str
) -> list[Frames]:
    many = await _triggered(client, await _workflow(client, project, "Many", _MANY))
    await _ended(client, many)
    page = await _at(context, f"{url}/executions/{many}/timeline", "listbox", "Steps in time")
    while int(await page.get_by_role("option").last.get_attribute("aria-setsize") or 0) < _PAST:
        await asyncio.sleep(0.1)
    frames = [await scrolled(page, "10,000 steps", plan.seconds)]
    await page.close()

    page = await _at(context, f"{url}/executions/{many}/logs", "region", "Log lines")
    lines = page.get_by_role("region", name="Log lines")
    while int(await lines.get_by_role("listitem").last.get_attribute("aria-setsize") or 0) < _PAST:
        await lines.evaluate("element => { element.scrollTop = 0 }")
        await asyncio.sleep(0.02)
    await lines.evaluate("element => { element.scrollTop = 0 }")
    frames.append(await scrolled(page, "10,000 log lines", plan.seconds))
    await page.close()
    return frames


_PAGES: tuple[tuple[str, str, Any, str], ...] = (
    ("logs", "logs of a run, followed", "region", "Log lines"),
    ("events", "its events", "region", "Event lines"),
    ("timeline", "its steps in time", "listbox", "Steps in time"),
    ("", "its graph", "group", "Graph of this execution"),
)


async def _followed(
    plan: Plan, context: BrowserContext, url: str, client: httpx.AsyncClient, project: str
) -> AsyncIterator[Live]:
    """Each page by a run of its own, so that all have the same past."""
    chatty = await _workflow(client, project, "Chatty", _CHATTY)
    for tab, title, role, name in _PAGES:
        execution = await _triggered(client, chatty)
        while await _written(client, chatty, execution) < _PAST:
            await asyncio.sleep(0.2)
        page = await _at(context, f"{url}/executions/{execution}/{tab}", role, name)
        # Until the page has caught up with the past.
        await page.wait_for_function(_CAUGHT_UP, arg=_PAST)
        before = await _written(client, chatty, execution)
        frames = await scrolled(page, title, plan.seconds, wheel=False)
        yield Live(frames, await _written(client, chatty, execution) - before)
        await page.close()
        await client.post(f"/executions/{execution}/cancel")


async def _written(client: httpx.AsyncClient, workflow: str, execution: str) -> int:
    answer = await client.get(f"/workflows/{workflow}/logs", params={"execution_id": execution, "page_size": 1})
    return int(answer.raise_for_status().json()["total"])


async def _at(context: BrowserContext, url: str, role: Any, name: str) -> Page:
    page = await context.new_page()
    await page.goto(url)
    await page.get_by_role(role, name=name).wait_for()
    return page


async def _set_up(client: httpx.AsyncClient) -> str:
    tokens = (await client.post("/auth/register", json=_ACCOUNT)).raise_for_status().json()
    client.headers["authorization"] = f"Bearer {tokens['access_token']}"
    company = (await client.post("/companies", json={"name": "Bench"})).raise_for_status().json()["id"]
    project = await client.post(f"/organizations/{company}/projects", json={"name": "Console"})
    return str(project.raise_for_status().json()["id"])


async def _workflow(client: httpx.AsyncClient, project: str, name: str, definition: str) -> str:
    body = {"name": name, "config_yaml": definition}
    return str((await client.post(f"/projects/{project}/workflows", json=body)).raise_for_status().json()["id"])


async def _triggered(client: httpx.AsyncClient, workflow: str) -> str:
    return str((await client.post(f"/workflows/{workflow}/trigger", json={})).raise_for_status().json()["id"])


async def _ended(client: httpx.AsyncClient, execution: str) -> None:
    while (await client.get(f"/executions/{execution}")).json()["status"] in {"pending", "running"}:
        await asyncio.sleep(0.1)
