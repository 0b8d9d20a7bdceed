/** What somebody wrote and has not saved, kept while they sign in again, also where that leaves this site.
 *
 * In memory, and in this tab's own storage once the page is left. It is of one person: whoever else signs in here ends it.
 * Never for secrets or passwords.
 */
import { session, type Session } from "./session";

type Place = Pick<Storage, "getItem" | "setItem" | "removeItem">;

const KEY = "penstock.kept";

export class Kept {
  #person = "";
  #texts = new Map<string, unknown>();
  #session: Session;
  #storage: Place | null;

  constructor(of: Session, storage: Place | null) {
    this.#session = of;
    this.#storage = storage;
    this.#read();
    of.subscribe(() => this.#dropOthers());
    this.#dropOthers();
  }

  get empty(): boolean {
    return this.#texts.size === 0;
  }

  at(place: string): unknown {
    return this.#texts.get(place);
  }

  keep(place: string, what: unknown): void {
    this.#texts.set(place, what);
  }

  forget(place: string): void {
    if (this.#texts.delete(place)) this.store();
  }

  forgetAll(): void {
    this.#texts.clear();
    this.store();
  }

  /** Before the page may go. Not at every key: a definition can be long. */
  store(): void {
    try {
      if (this.empty) this.#storage?.removeItem(KEY);
      else this.#storage?.setItem(KEY, JSON.stringify({ person: this.#person, texts: [...this.#texts] }));
    } catch {
      // More than the browser takes: it is kept as long as the page is.
    }
  }

  #read(): void {
    try {
      const stored = JSON.parse(this.#storage?.getItem(KEY) ?? "null") as { person: string; texts: [string, unknown][] } | null;
      if (!stored) return;
      this.#texts = new Map(stored.texts);
      this.#person = stored.person;
    } catch {
      this.#storage?.removeItem(KEY);
    }
  }

  #dropOthers(): void {
    const { state, person } = this.#session;
    if (state !== "in" || person === this.#person) return;
    this.#person = person;
    this.forgetAll();
  }
}

function ofThisTab(): Storage | null {
  try {
    return sessionStorage;
  } catch {
    return null; // the browser is told to keep nothing
  }
}

export const kept = new Kept(session, ofThisTab());

// A phone ends a page that is out of sight without another word.
globalThis.document?.addEventListener("visibilitychange", () => document.visibilityState === "hidden" && kept.store());
globalThis.addEventListener?.("pagehide", () => kept.store());
