/** What a stream has said so far: in order, each once, at most so many, told to the page at once, and then every so often. */
import { Connection, type ConnectionState, type Entry } from "./connection";

export const MOST = 20_000;
const LET_GO = 10; // of that many parts, one goes at a time: each time, all that is left moves
const PACE = 100; // milliseconds between two tellings: nobody reads faster, and drawing is what costs
const MOST_WAITING = 2_000; // while somebody reads in peace; after that the stream rests, and is resumed from its place

export interface Snapshot<T> {
  entries: readonly T[];
  /** How many older ones were let go, so that memory stays bounded. */
  dropped: number;
  /** While paused: how many have come meanwhile; `more` when the stream rests because there were too many. */
  waiting: number;
  more: boolean;
  paused: boolean;
  state: ConnectionState;
}

export interface FeedOptions<T extends Entry> {
  url: string;
  after?: number | undefined;
  entries?: readonly T[];
  most?: number;
  fetch: (request: Request) => Promise<Response>;
  /** Puts off the telling: to the next frame, and not too soon after the last one. */
  defer?: (tell: () => void) => void;
}

export class Feed<T extends Entry> {
  #connection: Connection<T>;
  #most: number;
  #defer: (tell: () => void) => void;
  #listeners = new Set<() => void>();
  #fresh: T[] = [];
  #waiting: T[] = [];
  #told = true;
  #snapshot: Snapshot<T>;

  constructor(options: FeedOptions<T>) {
    this.#most = options.most ?? MOST;
    this.#defer = options.defer ?? paced();
    this.#snapshot = { entries: options.entries ?? [], dropped: 0, waiting: 0, more: false, paused: false, state: { kind: "resting" } };
    this.#connection = new Connection<T>({
      url: options.url,
      after: options.after,
      fetch: options.fetch,
      onEntry: (entry) => this.#came(entry),
      onState: (state) => this.#change({ state }),
    });
  }

  snapshot = (): Snapshot<T> => this.#snapshot;

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  start = (): void => {
    if (!this.#snapshot.more) this.#connection.start();
  };
  rest = (): void => this.#connection.rest();
  stop = (): void => this.#connection.stop();
  hurry = (): void => this.#connection.hurry();

  /** The page stands still; what comes meanwhile waits. */
  pause = (): void => this.#change({ paused: true });

  resume = (): void => {
    const more = this.#snapshot.more;
    this.#fresh.push(...this.#waiting);
    this.#waiting = [];
    this.#change({ paused: false, waiting: 0, more: false });
    if (more) this.#connection.start();
  };

  /** Entries from before the stream began; as many as there is room for. */
  prepend(older: readonly T[]): number {
    const first = this.#snapshot.entries[0]?.id ?? Infinity;
    const room = Math.max(0, this.#most - this.#snapshot.entries.length);
    const added = room === 0 ? [] : older.filter((one) => one.id < first).slice(-room);
    if (added.length === 0) return 0;
    this.#change({ entries: [...added, ...this.#snapshot.entries] });
    return added.length;
  }

  #came(entry: T): void {
    if (!this.#snapshot.paused) {
      this.#fresh.push(entry);
      this.#tell();
      return;
    }
    this.#waiting.push(entry);
    const more = this.#waiting.length >= MOST_WAITING;
    this.#change({ waiting: this.#waiting.length, more });
    if (more) this.#connection.rest();
  }

  #change(change: Partial<Snapshot<T>>): void {
    this.#snapshot = { ...this.#snapshot, ...change };
    this.#tell();
  }

  #tell(): void {
    if (!this.#told) return;
    this.#told = false;
    this.#defer(() => {
      this.#told = true;
      this.#take();
      for (const listener of this.#listeners) listener();
    });
  }

  #take(): void {
    if (this.#fresh.length === 0) return;
    const all = this.#snapshot.entries.concat(this.#fresh);
    this.#fresh = [];
    const over = all.length > this.#most ? all.length - this.#most + Math.floor(this.#most / LET_GO) : 0;
    this.#snapshot = { ...this.#snapshot, entries: over ? all.slice(over) : all, dropped: this.#snapshot.dropped + over };
  }
}

function paced(): (tell: () => void) => void {
  let next = 0;
  return (tell) => {
    const told = () => {
      next = performance.now() + PACE;
      tell();
    };
    setTimeout(() => requestAnimationFrame(told), Math.max(0, next - performance.now()));
  };
}
