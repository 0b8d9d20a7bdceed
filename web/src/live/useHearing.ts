/** Hears a stream for as long as a component is there and somebody looks: each entry is told once, and none is kept. */
import { useEffect, useMemo, useRef, useState } from "react";

import { authorizedFetch } from "@/session/authorized";
import { Connection, type ConnectionState, type Entry } from "./connection";

const UNSEEN = 10_000; // milliseconds in the background after which it rests: a browser has six connections for all tabs of a site

export interface Hearing {
  state: ConnectionState;
  /** Do not wait for the next try. */
  hurry: () => void;
}

interface Ears<T> {
  /** Where to go on; without it, only what is new from now on. */
  after?: number | undefined;
  onEntry: (entry: T) => void;
  onState?: (state: ConnectionState) => void;
}

/** Without an address nothing is heard. */
export function useHearing<T extends Entry>(url: string | null, { after, onEntry, onState }: Ears<T>): Hearing {
  const [state, setState] = useState<ConnectionState>({ kind: "connecting" });
  const latest = useRef({ onEntry, onState });
  latest.current = { onEntry, onState };
  const connection = useRef<Connection<T> | null>(null);
  useEffect(() => {
    if (url === null) return;
    const made = (connection.current = new Connection<T>({
      url,
      after,
      fetch: authorizedFetch,
      onEntry: (entry) => latest.current.onEntry(entry),
      onState: (now) => {
        latest.current.onState?.(now);
        setState(now);
      },
    }));
    const unwatched = whileSeen({ start: () => made.start(), rest: () => made.rest(), hurry: () => made.hurry() });
    return () => {
      unwatched();
      made.stop();
    };
  }, [url, after]);
  return useMemo(() => ({ state, hurry: () => connection.current?.hurry() }), [state]);
}

interface Held {
  start: () => void;
  rest: () => void;
  hurry: () => void;
}

/** Started, and at rest while nobody looks. */
export function whileSeen({ start, rest, hurry }: Held): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const looked = () => {
    clearTimeout(timer);
    if (document.visibilityState === "visible") start();
    else timer = setTimeout(rest, UNSEEN);
  };
  start();
  document.addEventListener("visibilitychange", looked);
  window.addEventListener("online", hurry);
  return () => {
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", looked);
    window.removeEventListener("online", hurry);
  };
}
