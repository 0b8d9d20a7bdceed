/** Logs or events: the newest from the list, those that come from the stream, older ones when asked for. Nothing falls between. */
import { useQuery } from "@tanstack/react-query";
import { useCallback, useEffect, useRef, useState } from "react";

import { api, type Schema } from "@/api/client";
import type { Entry } from "./connection";
import { type Filter, type Stream, useStream } from "./useStream";

export type LogEntry = Schema<"LogEntry">;
export type EventEntry = Schema<"Event">;

type Level = "debug" | "info" | "warn" | "error" | "fatal";

const PAGE = 100;
const NONE: never[] = [];

interface Listed<T> {
  items: T[];
  total: number;
}

type Read<T> = (page: number, size: number, filter: Filter, signal?: AbortSignal) => Promise<Listed<T>>;

export interface Entries<T> extends Stream<T> {
  pending: boolean;
  error: unknown;
  retry: () => void;
  /** There are older ones that are not here. */
  older: boolean;
  loadOlder: () => Promise<number>;
}

interface Options {
  /** Whether more may come. */
  live: boolean;
}

export function useLogs(workflow: string, filter: Filter, options: Options): Entries<LogEntry> {
  const read: Read<LogEntry> = (page, page_size, { level, ...query }, signal) =>
    api.get("/api/v1/workflows/{id}/logs", { params: { path: { id: workflow }, query: { page, page_size, ...query, ...(level ? { level: level as Level } : {}) } }, signal: signal ?? null });
  return useEntries("logs", workflow, read, filter, options);
}

export function useEvents(workflow: string, filter: Filter, options: Options): Entries<EventEntry> {
  const read: Read<EventEntry> = (page, page_size, query, signal) =>
    api.get("/api/v1/workflows/{id}/events", { params: { path: { id: workflow }, query: { page, page_size, ...query } }, signal: signal ?? null });
  return useEntries("events", workflow, read, filter, options);
}

function useEntries<T extends Entry>(kind: "logs" | "events", workflow: string, read: Read<T>, filter: Filter, { live }: Options): Entries<T> {
  const wanted = given(filter);
  const first = useQuery({
    queryKey: [kind, workflow, wanted],
    queryFn: async ({ signal }) => begin(read, wanted, signal),
    staleTime: Infinity,
    gcTime: 0,
  });
  const open = useRef(live);
  open.current ||= live;
  // What it is about has ended: the stream goes on until its last word has come, however far behind it is.
  const final = useQuery({
    queryKey: [kind, workflow, wanted, "final"],
    queryFn: async ({ signal }) => (await read(1, 1, wanted, signal)).items[0]?.id ?? 0,
    enabled: !live && open.current && first.data !== undefined,
    staleTime: Infinity,
    gcTime: 0,
    retry: true,
  });
  const [heard, setHeard] = useState(0);
  const listening = live || (open.current && (final.data === undefined || heard < final.data));
  const stream = useStream<T>(`/api/v1/workflows/${workflow}/${kind}/stream`, {
    filter: wanted,
    after: first.data?.after,
    entries: first.data?.entries ?? NONE,
    live: listening && first.data !== undefined,
  });
  const last = stream.entries.at(-1)?.id ?? 0;
  useEffect(() => {
    if (!live) setHeard(last);
  }, [live, last]);
  const { entries, dropped, prepend } = stream;
  const [reached, setReached] = useState(false);
  useEffect(() => setReached(false), [first.data]);
  const older = !reached && dropped === 0 && first.data !== undefined && first.data.total > first.data.entries.length;
  const loading = useRef<Promise<number> | null>(null);
  const count = entries.length;
  const latest = useRef(read);
  latest.current = read;
  const query = JSON.stringify(wanted);
  const loadOlder = useCallback((): Promise<number> => {
    // New entries move the pages: some of what comes is known already, and nothing is skipped.
    loading.current ??= latest.current(Math.floor(count / PAGE) + 1, PAGE, JSON.parse(query) as Filter)
      .then((page) => {
        const added = prepend([...page.items].reverse());
        if (added === 0 || count + added >= page.total) setReached(true);
        return added;
      })
      .finally(() => {
        loading.current = null;
      });
    return loading.current;
  }, [count, prepend, query]);
  return { ...stream, pending: first.isPending, error: first.error, retry: () => void first.refetch(), older, loadOlder };
}

function given(filter: Filter): Filter {
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value));
}

/** The newest id of all is read before the list: whatever the list does not have comes after it. */
async function begin<T extends Entry>(read: Read<T>, filter: Filter, signal: AbortSignal) {
  const newest = await read(1, 1, {}, signal);
  const page = await read(1, PAGE, filter, signal);
  const entries = page.items.reverse();
  return { entries, total: page.total, after: Math.max(newest.items[0]?.id ?? 0, entries.at(-1)?.id ?? 0) };
}
