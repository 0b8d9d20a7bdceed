"""The order of a run: a server and executions; an empty page, then the console's longest ones, in the same browser."""

import asyncio
import json
import statistics
import tempfile
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
# Fifty lines each tenth of a second, for as long as it is needed.
_CHATTY = (
    _HEAD.replace("NAME", "chatty")
    + """\
do:
  - ticks:
      for: {each: tick, in: '[range(100000)]'}
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


@dataclass(frozen=True)
class Figures:
    first_page: list[Opened]
    frames: list[Frames]
    lines_a_second: float


def measure(plan: Plan, console: Console, path: Path) -> None:
    if chromium.found() is None:
        raise BenchError("there is no Chromium: apt install chromium, or CHROMIUM=/path/to/it")
    figures = asyncio.run(_measure(plan, console))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"machine": machine(), "plan": asdict(plan), **asdict(figures)}, indent=2) + "\n")
    _show(figures, console)


def _show(figures: Figures, console: Console) -> None:
    median = Opened(
        *(statistics.median(getattr(one, name) for one in figures.first_page) for name in Opened.__annotations__)
    )
    console.print(
        f"the first page, median of {len(figures.first_page)} visits: first paint {median.first_paint:.0f} ms, "
        f"with content {median.first_contentful_paint:.0f} ms, largest {median.largest_contentful_paint:.0f} ms; "
        f"{median.script_kib:.0f} KiB of script, gzipped"
    )
    table = Table(title="Frames while the wheel turns (in brackets: beside the empty page)")
    for title in ("", "a second", "p50 ms", "p95 ms", "most ms", "CPU ms each", "long tasks", "nodes", "heap MiB"):
        table.add_column(title, justify="left" if not title else "right")
    empty = figures.frames[0]
    for one in figures.frames:
        table.add_row(
            one.title, f"{one.a_second:.0f}", f"{one.p50:.1f}", f"{one.p95:.1f} ({one.p95 / empty.p95:.1f}x)",
            f"{one.most:.0f} ({one.most / empty.most:.1f}x)", f"{one.cpu_each:.1f}",
            f"{one.long_tasks}, {one.longest_task:.0f} ms", f"{one.nodes:,}", f"{one.heap_mib:.0f}",
        )  # fmt: skip
    console.print(table)
    console.print(f"while it ran, {figures.lines_a_second:.0f} lines came a second")


async def _measure(plan: Plan, console: Console) -> Figures:
    with tempfile.TemporaryDirectory() as folder:
        database = f"sqlite:///{folder}/penstock.db"
        other_build(Path(folder))
        async with (
            server_running(Path(folder), database, auth_rate_limit="1000") as server,
            chromium.running() as browser,
        ):
            url = await server.url()
            async with httpx.AsyncClient(base_url=f"{url}/api/v1", timeout=60, trust_env=False) as client:
                project = await _set_up(client)
                console.print("ten thousand steps run")
                many = await _triggered(client, project, "Many", _MANY)
                await _ended(client, many)
                first = [await _first_page(browser, url) for _ in range(plan.loads)]
                return await _watched(plan, browser, url, client, project, many, first)


async def _first_page(browser: Browser, url: str) -> Opened:
    context = await browser.new_context(viewport=chromium.DESK)
    figures = await opened(await context.new_page(), url)
    await context.close()
    return figures


async def _watched(
    plan: Plan, browser: Browser, url: str, client: httpx.AsyncClient, project: str, many: str, first: list[Opened]
) -> Figures:
    context = await browser.new_context(viewport=chromium.DESK)
    await context.request.post(f"{url}/user/auth", form=_ACCOUNT)
    empty = await context.new_page()
    await empty.set_content("<div style='height: 300000px; background: linear-gradient(#fff, #eee)'></div>")
    frames = [await scrolled(empty, "an empty page", plan.seconds)]
    await empty.close()

    page = await _at(context, f"{url}/executions/{many}/timeline", "listbox", "Steps in time")
    await _counted(page, "option", 10_000)
    frames.append(await scrolled(page, "10,000 steps", plan.seconds))
    await page.close()

    page = await _at(context, f"{url}/executions/{many}/logs", "region", "Log lines")
    lines = page.get_by_role("region", name="Log lines")
    while await _lines(page) < 10_000:
        await lines.evaluate("element => { element.scrollTop = 0 }")
        await asyncio.sleep(0.02)
    await lines.evaluate("element => { element.scrollTop = 0 }")
    frames.append(await scrolled(page, "10,000 log lines", plan.seconds))
    await page.close()

    chatty = await _triggered(client, project, "Chatty", _CHATTY)
    page = await _at(context, f"{url}/executions/{chatty}/logs", "region", "Log lines")
    before = await _lines(page)
    frames.append(await scrolled(page, "logs of a run, followed", plan.seconds, wheel=False))
    rate = (await _lines(page) - before) / plan.seconds
    await page.close()
    page = await _at(context, f"{url}/executions/{chatty}/timeline", "listbox", "Steps in time")
    frames.append(await scrolled(page, "steps of a run, followed", plan.seconds, wheel=False))
    await client.post(f"/executions/{chatty}/cancel")
    await context.close()
    return Figures(first, frames, rate)


async def _at(context: BrowserContext, url: str, role: Any, name: str) -> Page:
    page = await context.new_page()
    await page.goto(url)
    await page.get_by_role(role, name=name).wait_for()
    return page


async def _counted(page: Page, role: Any, least: int) -> None:
    """All of them are loaded, page by page."""
    while int(await page.get_by_role(role).last.get_attribute("aria-setsize") or 0) < least:
        await asyncio.sleep(0.1)


async def _lines(page: Page) -> int:
    last = page.get_by_role("region", name="Log lines").get_by_role("listitem").last
    return int(await last.get_attribute("aria-setsize") or 0)


async def _set_up(client: httpx.AsyncClient) -> str:
    tokens = (await client.post("/auth/register", json=_ACCOUNT)).raise_for_status().json()
    client.headers["authorization"] = f"Bearer {tokens['access_token']}"
    company = (await client.post("/companies", json={"name": "Bench"})).raise_for_status().json()["id"]
    project = await client.post(f"/organizations/{company}/projects", json={"name": "Console"})
    return str(project.raise_for_status().json()["id"])


async def _triggered(client: httpx.AsyncClient, project: str, name: str, definition: str) -> str:
    body = {"name": name, "config_yaml": definition}
    workflow = (await client.post(f"/projects/{project}/workflows", json=body)).raise_for_status().json()["id"]
    return str((await client.post(f"/workflows/{workflow}/trigger", json={})).raise_for_status().json()["id"])


async def _ended(client: httpx.AsyncClient, execution: str) -> None:
    while (await client.get(f"/executions/{execution}")).json()["status"] in {"pending", "running"}:
        await asyncio.sleep(0.1)
