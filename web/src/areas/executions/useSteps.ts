/** The steps of an execution: all of them once, then only what events say has changed, in batches. */
import { useCallback, useEffect, useMemo, useRef, useState } from "react";

import { asProblem } from "@/api/problem";
import { worthAnotherTry } from "@/api/queries";
import { type Step, stepsAfter } from "./data";
import { isOver, merged, pagesFor, type Part, touched } from "./steps";

const PAGE = 100;
const AT_ONCE = 4; // requests: a browser has six for a site
export const MOST_STEPS = 20_000;
const SHOWN_AT_ONCE = 12; // pages: the first is shown at once, the rest as it comes
const BATCH = 250; // milliseconds in which what happens is gathered
const REST = 3; // times what the last reading took: neither a slow server nor a slow page is asked without a break

export interface Steps {
  steps: readonly Step[];
  total: number;
  pending: boolean;
  error: unknown;
  retry: () => void;
  /** Something happened: to a task by its reference, or to who knows which. */
  heard: (reference?: string) => void;
}

class Loader {
  steps: readonly Step[] = [];
  total = 0;
  #open = new Set<number>();
  #changed: Set<string> | "all" = new Set();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #busy = false;
  #took = 0;
  #abort = new AbortController();

  constructor(private readonly id: string, private readonly told: () => void, private readonly failed: (error: unknown) => void) {}

  async begin(): Promise<void> {
    await this.#page({ after: 0, size: PAGE });
    this.told();
    const pages: Part[] = [];
    for (let after = PAGE; after < Math.min(this.total, MOST_STEPS); after += PAGE) pages.push({ after, size: PAGE });
    for (let at = 0; at < pages.length; at += SHOWN_AT_ONCE) {
      await this.#whenBack(() => this.#pages(pages.slice(at, at + SHOWN_AT_ONCE)));
      this.told();
    }
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#abort.abort();
  }

  heard(reference?: string): void {
    if (reference === undefined) this.#changed = "all";
    else if (this.#changed !== "all") this.#changed.add(reference);
    if (!this.#busy) this.#soon();
  }

  #soon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      void this.#refresh();
    }, Math.max(BATCH, this.#took * REST));
  }

  async #refresh(): Promise<void> {
    const references = this.#changed;
    this.#changed = new Set();
    this.#busy = true;
    const began = performance.now();
    try {
      await this.#pages(pagesFor(touched(this.steps, this.#open, references), PAGE));
      let before = -1;
      while (this.steps.length > before && this.steps.length < MOST_STEPS) {
        before = this.steps.length;
        await this.#page({ after: before, size: PAGE });
        if (this.steps.length - before < PAGE) break;
      }
      this.told();
      this.#took = performance.now() - began;
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

  /** Half of the steps would look like all of them: a server that is away is asked again. */
  async #whenBack(read: () => Promise<void>): Promise<void> {
    for (;;) {
      try {
        return await read();
      } catch (error) {
        if (this.#abort.signal.aborted || !worthAnotherTry(asProblem(error))) throw error;
        await new Promise((resolve) => setTimeout(resolve, BATCH * 8));
      }
    }
  }

  async #pages(pages: readonly Part[]): Promise<void> {
    for (let at = 0; at < pages.length; at += AT_ONCE) await Promise.all(pages.slice(at, at + AT_ONCE).map((one) => this.#page(one)));
  }

  async #page({ after, size }: Part): Promise<void> {
    const page = await stepsAfter(this.id, after, size, this.#abort.signal);
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
  const heard = useCallback((reference?: string) => loader.current?.heard(reference), []);
  const retry = useCallback(() => setTries((was) => was + 1), []);
  return useMemo(() => ({ ...shown, heard, retry }), [shown, heard, retry]);
}
