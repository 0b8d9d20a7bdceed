// @vitest-environment node
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { Feed, type FeedOptions } from "./feed";

interface Line {
  id: number;
}
const line = (id: number): Line => ({ id });

/** A stream whose bytes the test sends; asked for anew, it goes on after the last id, as the server does. */
function feedOf(entries: Line[], most: number, timing?: Pick<FeedOptions<Line>, "defer">) {
  let send: (ids: number[]) => void = () => undefined;
  const asked: (string | null)[] = [];
  const frames: (() => void)[] = [];
  const feed = new Feed<Line>({
    url: "/stream", after: entries.at(-1)?.id, entries, most,
    ...(timing ?? { defer: (tell) => frames.push(tell) }),
    fetch: async (request) => {
      asked.push(request.headers.get("last-event-id"));
      return new Response(new ReadableStream<Uint8Array>({
        start(controller) {
          send = (ids) => controller.enqueue(new TextEncoder().encode(ids.map((id) => `id: ${id}\nevent: log\ndata: {"id":${id}}\n\n`).join("")));
          request.signal.addEventListener("abort", () => controller.error(new DOMException("aborted", "AbortError")));
        },
      }));
    },
  });
  feed.start();
  const draw = () => frames.splice(0).forEach((tell) => tell());
  const ids = () => {
    draw();
    return feed.snapshot().entries.map((one) => one.id);
  };
  return { feed, asked, frames, draw, ids, sends: async (...all: number[]) => { send(all); await vi.advanceTimersByTimeAsync(0); } };
}

beforeEach(() => {
  vi.stubGlobal("location", { origin: "http://penstock.test" });
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe("a feed", () => {
  it("tells a thousand entries once a frame", async () => {
    const { feed, frames, draw, ids, sends } = feedOf([], 10_000);
    await vi.advanceTimersByTimeAsync(0);
    draw();
    const told = vi.fn();
    feed.subscribe(told);
    await sends(...Array.from({ length: 1000 }, (_, index) => index + 1));
    expect(frames).toHaveLength(1);
    expect(ids()).toHaveLength(1000);
    expect(told).toHaveBeenCalledTimes(1);
    feed.stop();
  });

  it("tells the first at once, and what follows ten times a second, however it comes", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    vi.stubGlobal("requestAnimationFrame", (tell: () => void) => setTimeout(tell, 16));
    const { feed, sends } = feedOf([], 10_000, {});
    await vi.advanceTimersByTimeAsync(200);
    const told = vi.fn();
    feed.subscribe(told);
    await sends(1);
    await vi.advanceTimersByTimeAsync(20);
    expect(told).toHaveBeenCalledTimes(1);
    for (let id = 2; id <= 101; id += 1) {
      await sends(id);
      await vi.advanceTimersByTimeAsync(10);
    }
    expect(told.mock.calls.length).toBeLessThan(12);
    await vi.advanceTimersByTimeAsync(200);
    expect(feed.snapshot().entries).toHaveLength(101);
    feed.stop();
  });

  it("lets go of many at a time, so that what is left seldom moves", async () => {
    const { feed, ids, sends } = feedOf([], 100);
    await vi.advanceTimersByTimeAsync(0);
    await sends(...Array.from({ length: 101 }, (_, index) => index + 1));
    expect(ids()).toHaveLength(90);
    expect(feed.snapshot().dropped).toBe(11);
    feed.stop();
  });

  it("keeps the newest, and says how many it let go", async () => {
    const { feed, ids, sends } = feedOf([line(1), line(2)], 3);
    await vi.advanceTimersByTimeAsync(0);
    await sends(3, 4, 5);
    expect(ids()).toEqual([3, 4, 5]);
    expect(feed.snapshot().dropped).toBe(2);
    feed.stop();
  });

  it("loses nothing while it is paused", async () => {
    const { feed, ids, sends } = feedOf([line(1)], 100);
    await vi.advanceTimersByTimeAsync(0);
    feed.pause();
    await sends(2, 3);
    expect(ids()).toEqual([1]);
    expect(feed.snapshot().waiting).toBe(2);
    feed.resume();
    expect(ids()).toEqual([1, 2, 3]);
    feed.stop();
  });

  it("rests when too much waits, and goes on from there", async () => {
    const { feed, asked, ids, sends } = feedOf([], 10_000);
    await vi.advanceTimersByTimeAsync(0);
    feed.pause();
    await sends(...Array.from({ length: 2_000 }, (_, index) => index + 1));
    expect(feed.snapshot().more).toBe(true);
    feed.resume();
    await vi.advanceTimersByTimeAsync(1);
    expect(asked).toEqual([null, "2000"]);
    await sends(2001);
    expect(ids()).toHaveLength(2001);
    feed.stop();
  });

  it("takes older ones in front, each once, as many as there is room for", () => {
    const { feed, ids } = feedOf([line(5), line(6)], 4);
    expect(feed.prepend([line(2), line(3), line(4), line(5)])).toBe(2);
    expect(ids()).toEqual([3, 4, 5, 6]);
    expect(feed.prepend([line(1)])).toBe(0);
    feed.stop();
  });
});
