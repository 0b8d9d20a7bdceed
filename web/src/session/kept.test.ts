import { beforeEach, describe, expect, it } from "vitest";

import type { Session, SessionState } from "./session";
import { Kept } from "./kept";

/** A tab: what it stores, and who is signed in in it. */
class Tab {
  stored = new Map<string, string>();
  person = "ada";
  state: SessionState = "in";
  told: () => void = () => undefined;
  subscribe = (listener: () => void) => {
    this.told = listener;
    return () => undefined;
  };
  getItem = (key: string) => this.stored.get(key) ?? null;
  setItem = (key: string, text: string) => void this.stored.set(key, text);
  removeItem = (key: string) => void this.stored.delete(key);

  /** The page as it is loaded. */
  open(): Kept {
    return new Kept(this as unknown as Session, this);
  }

  signsIn(person: string): void {
    this.person = person;
    this.state = "in";
    this.told();
  }
}

let tab: Tab;
beforeEach(() => {
  tab = new Tab();
});

/** Written, and gone to sign in somewhere else. */
function left(): void {
  const page = tab.open();
  page.keep("definition 1", { text: "mine" });
  tab.state = "out";
  page.store();
}

describe("what was written and not saved", () => {
  it("is there again for who comes back to the page that was left", () => {
    left();
    const page = tab.open();
    tab.signsIn("ada");
    expect(page.at("definition 1")).toEqual({ text: "mine" });
  });

  it("is gone when somebody else comes, with all that the tab stored of it", () => {
    left();
    const page = tab.open();
    tab.signsIn("bob");
    expect(page.at("definition 1")).toBeUndefined();
    expect(tab.stored.size).toBe(0);
    tab.signsIn("ada");
    expect(page.at("definition 1")).toBeUndefined();
  });

  it("is no longer stored once it is saved or given up", () => {
    left();
    const page = tab.open();
    tab.signsIn("ada");
    page.forget("definition 1");
    expect([page.empty, tab.stored.size]).toEqual([true, 0]);
  });

  it("is kept while the page is there when the tab can store nothing", () => {
    tab.setItem = () => {
      throw new DOMException("full", "QuotaExceededError");
    };
    const page = tab.open();
    page.keep("definition 1", "mine");
    page.store();
    expect(page.at("definition 1")).toBe("mine");
  });

  it("does not hinder when what is stored cannot be read", () => {
    tab.stored.set("penstock.kept", "{");
    expect(tab.open().empty).toBe(true);
  });
});
