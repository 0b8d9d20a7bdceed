/** One stream of the server, kept open: resumed from the last id after whatever ended it, so that nothing is lost or comes twice.
 *
 * Not `EventSource`: that cannot send the token in a header, and says neither why a stream ended nor whether it is back.
 */
import { asProblem, Problem, problemFrom } from "@/api/problem";
import { SseParser } from "./sse";

export type ConnectionState =
  | { kind: "connecting" }
  | { kind: "live" }
  /** `since` when it is away (milliseconds), and when it is tried again. */
  | { kind: "reconnecting"; since: number; reason: string }
  /** Held by us, to be resumed from where it was. */
  | { kind: "resting" }
  | { kind: "ended"; reason: string };

export interface Entry {
  id: number;
}

interface Options<T extends Entry> {
  /** Path and filters, without `after`. */
  url: string;
  /** The id after which to begin; without one, only what is new. */
  after?: number | undefined;
  onEntry: (entry: T) => void;
  onState: (state: ConnectionState) => void;
  fetch: (request: Request) => Promise<Response>;
}

const FIRST_PAUSE = 300; // milliseconds, doubled at each try
const LONGEST_PAUSE = 10_000;
const SILENCE = 40_000; // a comment comes every 15 seconds; what says nothing for so long is dead
const STEADY = 3_000; // a connection that held so long counts as good again

export class Connection<T extends Entry> {
  #options: Options<T>;
  #last: number | undefined;
  #wanted = false;
  #running = false;
  #tries = 0;
  #awaySince = 0;
  #liveSince = 0;
  #hurried = false;
  #reason = "";
  #abort: AbortController | null = null;
  #wake: (() => void) | null = null;

  constructor(options: Options<T>) {
    this.#options = options;
    this.#last = options.after;
  }

  /** The id up to which everything was given out. */
  get last(): number | undefined {
    return this.#last;
  }

  start(): void {
    this.#wanted = true;
    if (!this.#running) void this.#run();
    else this.hurry();
  }

  /** Close it, keeping the place; `start` goes on from there. */
  rest(): void {
    if (!this.#wanted) return;
    this.stop();
    this.#say({ kind: "resting" });
  }

  stop(): void {
    this.#wanted = false;
    this.#abort?.abort();
    this.#wake?.();
  }

  /** Do not wait for the next try: the network is back, or somebody looks. */
  hurry(): void {
    if (this.#wake) this.#wake();
    // The try that is under way may take long to fail.
    else this.#hurried = this.#awaySince !== 0;
  }

  async #run(): Promise<void> {
    this.#running = true;
    this.#tries = 0;
    this.#awaySince = 0;
    this.#say({ kind: "connecting" });
    while (this.#wanted) {
      this.#liveSince = 0;
      const over = await this.#once();
      if (!this.#wanted) break;
      if (over) {
        this.#wanted = false;
        this.#say({ kind: "ended", reason: over });
        break;
      }
      if (this.#liveSince !== 0 && Date.now() - this.#liveSince > STEADY) this.#tries = 0;
      this.#awaySince ||= Date.now();
      await this.#pause();
    }
    this.#running = false;
    // `start` came while the last request was being given up.
    if (this.#wanted) void this.#run();
  }

  /** One request, to its end. Answers why there must be no other, or nothing. */
  async #once(): Promise<string | undefined> {
    const abort = (this.#abort = new AbortController());
    try {
      const response = await this.#options.fetch(this.#request(abort.signal));
      if (!response.ok || !response.body) return await this.#refused(response);
      await this.#read(response.body, abort);
      return undefined;
    } catch (error) {
      this.#reason ||= asProblem(error).title;
      return undefined;
    } finally {
      abort.abort();
    }
  }

  #request(signal: AbortSignal): Request {
    const headers: Record<string, string> = { accept: "text/event-stream" };
    if (this.#last !== undefined) headers["last-event-id"] = String(this.#last);
    return new Request(new URL(this.#options.url, location.origin), { headers, signal, cache: "no-store" });
  }

  /** What will be refused again is the end; a server in trouble, or one that asks for patience, is not. */
  async #refused(response: Response): Promise<string | undefined> {
    const problem = problemFrom(await response.json().catch(() => null), response);
    const passing = problem.status >= 500 || problem.status === 429 || problem.status === 408;
    if (passing) {
      this.#reason = problem.title;
      return undefined;
    }
    return this.#reason || explained(problem);
  }

  async #read(body: ReadableStream<Uint8Array>, abort: AbortController): Promise<void> {
    const parser = new SseParser();
    const reader = body.getReader();
    let watchdog: ReturnType<typeof setTimeout> | undefined;
    let said = false;
    try {
      for (;;) {
        clearTimeout(watchdog);
        watchdog = setTimeout(() => abort.abort(), SILENCE);
        const { done, value } = await reader.read();
        if (done) {
          this.#reason ||= "the connection was closed";
          return;
        }
        if (!this.#wanted) return;
        this.#awaySince = 0;
        this.#hurried = false;
        this.#liveSince ||= Date.now();
        this.#reason = "";
        // Once, not with all that comes: whoever shows the state would draw anew each time.
        if (!said) this.#say({ kind: "live" });
        said = true;
        for (const frame of parser.push(value)) {
          if (frame.event === "end") {
            this.#ended(frame.data);
            return;
          }
          this.#give(frame.data, Number(frame.id));
        }
      }
    } finally {
      clearTimeout(watchdog);
      reader.cancel().catch(() => undefined);
    }
  }

  /** Why it ended is kept: when the next request is refused, that was the reason. */
  #ended(data: string): void {
    this.#reason = (JSON.parse(data) as { reason?: string }).reason ?? "";
    // A token's end is in the order of things: nobody needs to see it, and nobody to wait.
    if (this.#reason.includes("expired")) this.#tries = -1;
  }

  #give(data: string, id: number): void {
    if (!Number.isSafeInteger(id) || (this.#last !== undefined && id <= this.#last)) return;
    this.#options.onEntry(JSON.parse(data) as T);
    this.#last = id;
  }

  async #pause(): Promise<void> {
    this.#tries += 1;
    if (this.#tries <= 0) return;
    this.#say({ kind: "reconnecting", since: this.#awaySince, reason: this.#reason });
    if (this.#hurried) {
      this.#hurried = false;
      return;
    }
    const pause = Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (this.#tries - 1)) * (0.5 + Math.random() / 2);
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, pause);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = null;
  }

  #say(state: ConnectionState): void {
    this.#options.onState(state);
  }
}

function explained(problem: Problem): string {
  if (problem.status === 401) return "you are signed out";
  return problem.detail || problem.title;
}
