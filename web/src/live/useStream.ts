/** A stream for as long as a component shows it. Nobody looking, it rests: a browser has six connections for all tabs of a site. */
import { useEffect, useMemo, useSyncExternalStore } from "react";

import { authorizedFetch } from "@/session/authorized";
import type { Entry } from "./connection";
import { Feed, type Snapshot } from "./feed";
import { whileSeen } from "./useHearing";

export type Filter = Record<string, string | undefined>;

export interface Stream<T> extends Snapshot<T> {
  pause: () => void;
  resume: () => void;
  hurry: () => void;
  prepend: (older: readonly T[]) => number;
}

export interface StreamOptions<T> {
  filter?: Filter;
  /** Where to go on; without it, only what is new from now on. */
  after?: number | undefined;
  /** What is known already, up to `after`. */
  entries?: readonly T[] | undefined;
  /** The newest that are kept. */
  most?: number;
  /** Ready to be opened, and still of interest. */
  live?: boolean;
}

export function withFilter(url: string, filter: Filter = {}): string {
  const given = Object.entries(filter).filter((entry): entry is [string, string] => Boolean(entry[1]));
  return given.length ? `${url}?${new URLSearchParams(given)}` : url;
}

/** `useStream<LogEntry>("/api/v1/workflows/…/logs/stream", { filter: { level: "warn" }, after })` */
export function useStream<T extends Entry>(url: string, { filter, after, entries, most, live = true }: StreamOptions<T> = {}): Stream<T> {
  const address = withFilter(url, filter);
  const feed = useMemo(
    () => new Feed<T>({ url: address, after, ...(entries ? { entries } : {}), ...(most ? { most } : {}), fetch: authorizedFetch }),
    // What was known at the beginning is read once: a new feed begins when what is asked for changes.
    [address, after, entries, most],
  );
  useEffect(() => {
    if (!live) return;
    const unwatched = whileSeen(feed);
    return () => {
      unwatched();
      feed.rest();
    };
  }, [feed, live]);
  const snapshot = useSyncExternalStore(feed.subscribe, feed.snapshot);
  return useMemo(
    () => ({ ...snapshot, pause: feed.pause, resume: feed.resume, hurry: feed.hurry, prepend: (older: readonly T[]) => feed.prepend(older) }),
    [snapshot, feed],
  );
}
