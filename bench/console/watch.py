"""What a page does to its frames while somebody turns the wheel; and what it took until it was there."""

import asyncio
import gzip
import statistics
import time
from dataclasses import dataclass

import httpx
from playwright.async_api import CDPSession, Page

_TURN = 240  # pixels of a notch, twice what most wheels do
_EVERY = 0.03  # seconds

_WATCH = """() => {
    const seen = window.seen = {frames: [], long: [], going: true};
    new PerformanceObserver(list => list.getEntries().forEach(one => seen.long.push(one.duration)))
        .observe({type: "longtask"});
    let last = performance.now();
    const frame = now => {
        seen.frames.push(now - last);
        last = now;
        if (seen.going) requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
}"""
_SEEN = """() => {
    window.seen.going = false;
    return [window.seen.frames.slice(1), window.seen.long, document.querySelectorAll("*").length,
            performance.memory.usedJSHeapSize / 2 ** 20];
}"""
_OPENED = """() => new Promise(resolve => {
    const scripts = performance.getEntriesByType("resource").filter(one => new URL(one.name).pathname.endsWith(".js"));
    const seen = {};
    const note = list => {
        for (const one of list.getEntries()) seen[one.name || one.entryType] = one.startTime;
        const paint = seen["first-contentful-paint"];
        const largest = seen["largest-contentful-paint"] ?? paint;
        if (paint !== undefined)
            setTimeout(resolve, 100, [seen["first-paint"] ?? paint, paint, largest, scripts.map(one => one.name)]);
    };
    new PerformanceObserver(note).observe({type: "largest-contentful-paint", buffered: true});
    new PerformanceObserver(note).observe({type: "paint", buffered: true});
})"""


@dataclass(frozen=True)
class Frames:
    title: str
    count: int
    a_second: float
    p50: float
    p95: float
    most: float
    cpu_each: float
    """Milliseconds of the page's thread for each frame; other than the times, it does not grow with what else runs."""
    long_tasks: int
    longest_task: float
    nodes: int
    heap_mib: float


@dataclass(frozen=True)
class Opened:
    first_paint: float
    first_contentful_paint: float
    largest_contentful_paint: float
    script_kib: float
    """Gzipped, of all scripts that were loaded until then."""


async def scrolled(page: Page, title: str, seconds: float, *, wheel: bool = True) -> Frames:
    """Down the middle of the page by the wheel, or only looked at."""
    size = page.viewport_size or {"width": 1280, "height": 800}
    await page.mouse.move(size["width"] / 2, size["height"] * 0.7)
    thread = await page.context.new_cdp_session(page)
    await thread.send("Performance.enable", {"timeDomain": "threadTicks"})
    await page.evaluate(_WATCH)
    spent, began = await _spent(thread), time.perf_counter()
    while (passed := time.perf_counter() - began) < seconds:
        if wheel:
            await page.mouse.wheel(0, _TURN)
        await asyncio.sleep(_EVERY)
    spent = await _spent(thread) - spent
    frames, long, nodes, heap = await page.evaluate(_SEEN)
    await thread.detach()
    cuts = statistics.quantiles(frames, n=100)
    return Frames(
        title, len(frames), len(frames) / passed, cuts[49], cuts[94], max(frames),
        spent * 1000 / len(frames), len(long), max(long, default=0.0), nodes, heap,
    )  # fmt: skip


async def _spent(thread: CDPSession) -> float:
    metrics = (await thread.send("Performance.getMetrics"))["metrics"]
    return float(next(one["value"] for one in metrics if one["name"] == "TaskDuration"))


async def opened(page: Page, url: str) -> Opened:
    """The first visit: nothing is cached, so the page must be of a context of its own."""
    await page.goto(url, wait_until="networkidle")
    first, contentful, largest, scripts = await page.evaluate(_OPENED)
    async with httpx.AsyncClient(trust_env=False) as http:
        sizes = [len(gzip.compress((await http.get(script)).content, 9)) for script in scripts]
    return Opened(first, contentful, largest, sum(sizes) / 1024)
