// @vitest-environment node
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { Connection, type ConnectionState } from "./connection";

interface Line {
  id: number;
}

const encoder = new TextEncoder();
const frame = (id: number) => `id: ${id}\nevent: log\ndata: {"id":${id}}\n\n`;
const end = (reason: string) => `event: end\ndata: ${JSON.stringify({ reason })}\n\n`;

type Answer = string | Response | Error;

/** A server of which each request gets the next of these answers, after so many milliseconds; the last one stays open. */
function server(takes: number, ...answers: Answer[]) {
  const asked: (string | null)[] = [];
  const fetch = async (request: Request): Promise<Response> => {
    asked.push(request.headers.get("last-event-id"));
    const answer = answers[asked.length - 1] ?? "";
    if (takes) await new Promise((resolve) => setTimeout(resolve, takes));
    if (answer instanceof Error) throw answer;
    if (answer instanceof Response) return answer;
    const last = asked.length >= answers.length;
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(encoder.encode(`: hello\n\n${answer}`));
        if (!last) controller.close();
        request.signal.addEventListener("abort", () => {
          if (last) controller.error(new DOMException("aborted", "AbortError"));
        });
      },
    });
    return new Response(body);
  };
  return { asked, fetch };
}

function listen(answers: Answer[], { after, takes = 0 }: { after?: number; takes?: number } = {}) {
  const entries: number[] = [];
  const states: ConnectionState[] = [];
  const { asked, fetch } = server(takes, ...answers);
  const connection = new Connection<Line>({
    url: "/api/v1/workflows/w/logs/stream",
    after,
    fetch,
    onEntry: (entry) => entries.push(entry.id),
    onState: (state) => states.push(state),
  });
  connection.start();
  return { connection, entries, states, asked };
}

const problem = (status: number, detail: string) => new Response(JSON.stringify({ title: "No", detail }), { status });

beforeEach(() => {
  vi.stubGlobal("location", { origin: "http://penstock.test" });
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});
const passes = (ms: number) => vi.advanceTimersByTimeAsync(ms);

describe("a stream", () => {
  it("goes on after the last id when it breaks, and gives nothing twice", async () => {
    const { connection, entries, asked, states } = listen([frame(1) + frame(2), new TypeError("network"), frame(2) + frame(3)]);
    await passes(5_000);
    expect(entries).toEqual([1, 2, 3]);
    expect(asked).toEqual([null, "2", "2"]);
    expect(states.at(-1)).toEqual({ kind: "live" });
    expect(states.some((state) => state.kind === "reconnecting")).toBe(true);
    connection.stop();
  });

  it("says since when it is away, until it is back", async () => {
    const { connection, states } = listen([frame(1), new TypeError("a"), new TypeError("b"), new TypeError("c"), frame(2)]);
    await passes(30_000);
    const away = states.flatMap((state) => (state.kind === "reconnecting" ? [state.since] : []));
    expect(away).toHaveLength(4);
    expect(new Set(away).size).toBe(1);
    connection.stop();
  });

  it("renews an expired token without a word", async () => {
    const { connection, entries, states } = listen([frame(1) + end("the access token has expired; resume with a new one"), frame(2)]);
    await passes(0);
    await passes(0);
    expect(entries).toEqual([1, 2]);
    expect(states.map((state) => state.kind)).not.toContain("reconnecting");
    connection.stop();
  });

  it("ends with the reason when the role is gone", async () => {
    const { states, asked } = listen([end("you have no role here any more"), problem(403, "this needs the role viewer here")]);
    await passes(60_000);
    expect(states.at(-1)).toEqual({ kind: "ended", reason: "you have no role here any more" });
    expect(asked).toHaveLength(2);
  });

  it("outlives a server that is in trouble", async () => {
    const { connection, entries } = listen([problem(503, "starting"), problem(502, "gone"), frame(7)], { after: 6 });
    await passes(10_000);
    expect(entries).toEqual([7]);
    connection.stop();
  });

  it("leaves a server that takes long to refuse more and more time", async () => {
    vi.spyOn(Math, "random").mockReturnValue(1);
    const { connection, asked } = listen([1, 2, 3, 4, 5].map(() => problem(504, "gone")), { takes: 4_000 });
    await passes(4 * 4_000 + 300 + 600 + 1_200 + 2_399);
    expect(asked).toHaveLength(4);
    await passes(1);
    expect(asked).toHaveLength(5);
    connection.stop();
  });

  it("is tried again at once for who asks while a try is under way", async () => {
    const { connection, asked } = listen([problem(503, "a"), problem(503, "b"), frame(1)], { takes: 4_000 });
    await passes(4_300);
    expect(asked).toHaveLength(2);
    connection.hurry();
    await passes(4_000);
    expect(asked).toHaveLength(3);
    connection.stop();
  });

  it("rests and goes on from its place", async () => {
    const { connection, entries, asked, states } = listen([frame(4), frame(5)]);
    await passes(0);
    connection.rest();
    await passes(0);
    expect(states.at(-1)).toEqual({ kind: "resting" });
    connection.start();
    await passes(5_000);
    expect(entries).toEqual([4, 5]);
    expect(asked).toEqual([null, "4"]);
    connection.stop();
  });

  it("gives up a connection that says nothing", async () => {
    const { connection, asked } = listen([frame(1)]);
    await passes(50_000);
    expect(asked).toEqual([null, "1"]);
    connection.stop();
  });
});
