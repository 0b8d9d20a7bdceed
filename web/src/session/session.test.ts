import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { Problem } from "@/api/problem";
import { authorizedFetch } from "./authorized";
import { Session, session } from "./session";

/** Two tabs' ends of one channel. */
class Tabs extends EventTarget {
  said: string[] = [];
  postMessage(text: string): void {
    this.said.push(text);
  }
  hear(text: string): void {
    this.dispatchEvent(new MessageEvent("message", { data: text }));
  }
}

const json = (body: unknown, status = 200) => new Response(JSON.stringify(body), { status });
const pair = (token: string, seconds = 900) => json({ access_token: token, expires_in: seconds });
const tokenOf = (person: string) => `x.${btoa(JSON.stringify({ sub: person }))}.x`;

let tabs: Tabs;
let server: ReturnType<typeof vi.fn<typeof fetch>>;
const started = () => new Session(tabs as unknown as BroadcastChannel);

beforeEach(() => {
  vi.useFakeTimers();
  tabs = new Tabs();
  server = vi.fn<typeof fetch>();
  vi.stubGlobal("fetch", server);
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

describe("a session", () => {
  it("makes one request however many ask for a token at once", async () => {
    server.mockResolvedValue(pair("one"));
    const own = started();
    expect(await Promise.all([own.token(), own.token(), own.token()])).toEqual(["one", "one", "one"]);
    expect(server).toHaveBeenCalledTimes(1);
  });

  it("is renewed before its token ends, with nobody asking", async () => {
    server.mockResolvedValueOnce(pair("one", 900)).mockResolvedValueOnce(pair("two", 900));
    const own = started();
    await own.token();
    await vi.advanceTimersByTimeAsync(840_000);
    expect(await own.token()).toBe("two");
    expect(server).toHaveBeenCalledTimes(2);
  });

  it("is over when the cookie is no longer good", async () => {
    server.mockResolvedValueOnce(pair("one")).mockResolvedValueOnce(json({}, 401));
    const own = started();
    await own.token();
    expect(await own.renew()).toBe(false);
    expect(own.state).toBe("out");
  });

  it("is not over because the server is away", async () => {
    server.mockResolvedValueOnce(pair("one")).mockRejectedValueOnce(new TypeError("Failed to fetch"));
    const own = started();
    await own.token();
    await expect(own.renew()).rejects.toThrow(Problem);
    expect(own.state).toBe("in");
  });

  it("ends in every tab when one signs out", async () => {
    server.mockResolvedValueOnce(pair("one")).mockResolvedValueOnce(json({}));
    const own = started();
    await own.token();
    await own.signOut();
    expect(tabs.said).toEqual(["signed-out"]);

    server.mockResolvedValueOnce(pair("two"));
    const other = started();
    const forgotten = vi.fn();
    other.onPersonChange(forgotten);
    await other.token();
    tabs.hear("signed-out");
    expect(other.state).toBe("out");
    expect(forgotten).toHaveBeenCalledOnce();
  });

  it("forgets what was loaded when somebody else signs in in another tab", async () => {
    server.mockResolvedValueOnce(pair(tokenOf("ada"))).mockResolvedValueOnce(pair(tokenOf("bob")));
    const own = started();
    const forgotten = vi.fn();
    own.onPersonChange(forgotten);
    await own.token();
    tabs.hear("here ada"); // who is here already
    expect(forgotten).not.toHaveBeenCalled();
    tabs.hear("here bob");
    await vi.advanceTimersByTimeAsync(0);
    expect(forgotten).toHaveBeenCalled();
    expect(own.person).toBe("bob");
  });

  it("is found to be somebody else's when no tab said so", async () => {
    server.mockResolvedValueOnce(pair(tokenOf("ada"))).mockResolvedValueOnce(pair(tokenOf("bob")));
    const own = started();
    const [forgotten, told] = [vi.fn(), vi.fn()];
    own.onPersonChange(forgotten);
    await own.token();
    own.subscribe(told);
    await own.renew();
    expect(forgotten).toHaveBeenCalledOnce();
    expect(told).toHaveBeenCalledOnce();
  });

  it("begins again in a tab that was signed out, when its owner comes back in another one", async () => {
    server.mockResolvedValueOnce(json({}, 401)).mockResolvedValueOnce(pair(tokenOf("ada")));
    const own = started();
    await own.token();
    expect(own.state).toBe("out");
    tabs.hear("here ada");
    await vi.advanceTimersByTimeAsync(0);
    expect(own.state).toBe("in");
  });
});

describe("a request with the session's token", () => {
  it("is repeated once, with its body, after a 401 and a renewal", async () => {
    const seen: (string | null)[] = [];
    server.mockImplementation(async (input) => {
      if (typeof input === "string") return pair(seen.length ? "new" : "old");
      const request = input as Request;
      seen.push(`${request.headers.get("authorization")} ${await request.text()}`);
      return seen.length === 1 ? json({}, 401) : json({ done: true });
    });
    await session.renew();
    const answer = await authorizedFetch(new Request("http://localhost/api", { method: "POST", body: "body" }));
    expect(await answer.json()).toEqual({ done: true });
    expect(seen).toEqual(["Bearer old body", "Bearer new body"]);
  });

  it("is not repeated for somebody else", async () => {
    server.mockImplementation(async (input) => (typeof input === "string" ? pair(tokenOf("ada")) : json({}, 401)));
    await session.renew();
    server.mockClear();
    server.mockImplementation(async (input) => (typeof input === "string" ? pair(tokenOf("bob")) : json({}, 401)));
    expect((await authorizedFetch(new Request("http://localhost/api", { method: "DELETE" }))).status).toBe(401);
    expect(server.mock.calls.filter(([input]) => typeof input !== "string")).toHaveLength(1);
  });
});
