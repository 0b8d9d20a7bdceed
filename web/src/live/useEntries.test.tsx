// @vitest-environment jsdom
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, configure, renderHook, waitFor } from "@testing-library/react";
import type { ReactNode } from "react";
import { afterEach, expect, it, vi } from "vitest";

import { useLogs } from "./useEntries";

configure({ asyncUtilTimeout: 60_000 });

/** A server with so many lines, whose stream says of them what the test lets it say. */
class Server {
  lines = 3;
  #say: (ids: number[]) => void = () => undefined;
  open = false;

  readonly fetch = async (request: Request): Promise<Response> => {
    const url = new URL(request.url);
    if (url.pathname.endsWith("/stream")) return this.#stream(request);
    const size = Number(url.searchParams.get("page_size"));
    const items = Array.from({ length: Math.min(size, this.lines) }, (_, index) => ({ id: this.lines - index }));
    return Response.json({ items, total: this.lines });
  };

  says(...ids: number[]): void {
    this.#say(ids);
  }

  #stream(request: Request): Response {
    this.open = true;
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        const send = (text: string) => controller.enqueue(new TextEncoder().encode(text));
        send(": hello\n\n");
        this.#say = (ids) => send(ids.map((id) => `id: ${id}\nevent: log\ndata: {"id":${id}}\n\n`).join(""));
        request.signal.addEventListener("abort", () => {
          this.open = false;
          controller.error(new DOMException("aborted", "AbortError"));
        });
      },
    });
    return new Response(body);
  }
}

const server = vi.hoisted(() => {
  // Node's requests know no page that an address could be relative to; whoever sends them is loaded after this.
  const Asked = class extends Request {
    constructor(url: string | URL | Request, init?: RequestInit) {
      super(url instanceof Request ? url : new URL(url, "http://penstock.test"), init);
    }
  };
  vi.stubGlobal("Request", Asked);
  return { now: null as { fetch: (request: Request) => Promise<Response> } | null };
});
vi.mock("@/session/authorized", () => ({ authorizedFetch: (request: Request) => server.now?.fetch(request) }));

function follow(live: boolean) {
  const made = new Server();
  server.now = made;
  const client = new QueryClient();
  const wrapper = ({ children }: { children: ReactNode }) => <QueryClientProvider client={client}>{children}</QueryClientProvider>;
  const hook = renderHook(({ live }) => useLogs("w", { execution_id: "e" }, { live }), { wrapper, initialProps: { live } });
  const ids = () => hook.result.current.entries.map((one) => one.id);
  return { server: made, ids, ...hook };
}

afterEach(() => {
  vi.useRealTimers();
});

it("hears the last lines of what has ended, however late they come, and only then stops listening", async () => {
  const { server, ids, rerender, unmount } = follow(true);
  await waitFor(() => expect(server.open).toBe(true));
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] });
  server.lines = 5; // written, and not yet said
  rerender({ live: false });
  await act(() => vi.advanceTimersByTimeAsync(30_000));
  vi.useRealTimers();
  server.says(4);
  await waitFor(() => expect(ids()).toEqual([1, 2, 3, 4]));
  server.says(5);
  await waitFor(() => expect(ids()).toEqual([1, 2, 3, 4, 5]));
  await waitFor(() => expect(server.open).toBe(false));
  unmount();
});

it("opens no stream for what had ended before anybody looked", async () => {
  const { server, ids, unmount } = follow(false);
  await waitFor(() => expect(ids()).toEqual([1, 2, 3]));
  expect(server.open).toBe(false);
  unmount();
});
