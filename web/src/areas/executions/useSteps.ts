/** The steps of an execution: all of them once, then only what events say has changed, in batches. */
import { useCallback, useEffect, useMemo, useRef, useState } from "react";

import type { EventEntry } from "@/live";
import { membersOf, type Step, stepsAfter, textIn } from "./data";
import { cursorsFor, isOver, merged, touched } from "./steps";

const PAGE = 100;
const AT_ONCE = 4; // requests: a browser has six for a site
export const MOST_STEPS = 20_000;
const SHOWN_AT_ONCE = 12; // pages: the first is shown at once, the rest as it comes
const BATCH = 250; // milliseconds in which what happens is gathered

export interface Steps {
  steps: readonly Step[];
  total: number;
  pending: boolean;
  error: unknown;
  retry: () => void;
  /** Something happened: to tasks by their reference, or to who knows which. */
  heard: (references: ReadonlySet<string> | "all") => void;
}

class Loader {
  steps: readonly Step[] = [];
  total = 0;
  #open = new Set<number>();
  #changed: Set<string> | "all" = new Set();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #busy = false;
  #abort = new AbortController();

  constructor(private readonly id: string, private readonly told: () => void, private readonly failed: (error: unknown) => void) {}

  async begin(): Promise<void> {
    await this.#page(0);
    this.told();
    const cursors: number[] = [];
    for (let after = PAGE; after < Math.min(this.total, MOST_STEPS); after += PAGE) cursors.push(after);
    for (let at = 0; at < cursors.length; at += SHOWN_AT_ONCE) {
      await this.#pages(cursors.slice(at, at + SHOWN_AT_ONCE));
      this.told();
    }
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#abort.abort();
  }

  heard(references: ReadonlySet<string> | "all"): void {
    if (references === "all" || this.#changed === "all") this.#changed = "all";
    else for (const one of references) this.#changed.add(one);
    if (!this.#busy) this.#soon();
  }

  #soon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      void this.#refresh();
    }, BATCH);
  }

  async #refresh(): Promise<void> {
    const references = this.#changed;
    this.#changed = new Set();
    this.#busy = true;
    try {
      await this.#pages(cursorsFor(touched(this.steps, this.#open, references), PAGE));
      let before = -1;
      while (this.steps.length > before && this.steps.length < MOST_STEPS) {
        before = this.steps.length;
        await this.#page(before);
        if (this.steps.length - before < PAGE) break;
      }
      this.told();
    } catch (error) {
      if (this.#abort.signal.aborted) return;
      // The server is away; what was missed is asked for as a whole when it is back.
      this.#changed = "all";
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => {
        this.#timer = undefined;
        void this.#refresh();
      }, BATCH * 8);
      if (this.steps.length === 0) this.failed(error);
    } finally {
      this.#busy = false;
    }
    if (this.#changed === "all" || this.#changed.size) this.#soon();
  }

  async #pages(cursors: readonly number[]): Promise<void> {
    for (let at = 0; at < cursors.length; at += AT_ONCE) await Promise.all(cursors.slice(at, at + AT_ONCE).map((after) => this.#page(after)));
  }

  async #page(after: number): Promise<void> {
    const page = await stepsAfter(this.id, after, PAGE, this.#abort.signal);
    this.total = page.total;
    this.steps = merged(this.steps, page.items);
    for (const step of page.items) {
      if (isOver(step)) this.#open.delete(step.sequence_num);
      else this.#open.add(step.sequence_num);
    }
  }
}

const NO_STEPS: readonly Step[] = [];

export function useSteps(id: string): Steps {
  const [shown, setShown] = useState<{ steps: readonly Step[]; total: number; pending: boolean; error: unknown }>({ steps: NO_STEPS, total: 0, pending: true, error: null });
  const [tries, setTries] = useState(0);
  const loader = useRef<Loader | null>(null);
  useEffect(() => {
    const made = new Loader(
      id,
      () => setShown({ steps: made.steps, total: made.total, pending: false, error: null }),
      (error) => setShown((was) => ({ ...was, error })),
    );
    loader.current = made;
    setShown({ steps: NO_STEPS, total: 0, pending: true, error: null });
    made.begin().catch((error: unknown) => {
      if (loader.current === made) setShown({ steps: made.steps, total: made.total, pending: false, error });
    });
    return () => {
      made.stop();
      loader.current = null;
    };
  }, [id, tries]);
  const heard = useCallback((references: ReadonlySet<string> | "all") => loader.current?.heard(references), []);
  const retry = useCallback(() => setTries((was) => was + 1), []);
  return useMemo(() => ({ ...shown, heard, retry }), [shown, heard, retry]);
}

/** The tasks that events are about. */
export function referencesIn(events: readonly EventEntry[]): Set<string> {
  const found = new Set<string>();
  for (const event of events) {
    const task = textIn(membersOf(event.data), "task");
    if (task) found.add(task);
  }
  return found;
}
