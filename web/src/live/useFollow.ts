/** Keeps what a page has read true: a stream tells that something happened, and it is read again. Where there is no stream to be had, it is read every few seconds instead, and the page says so. */
import { useEffect, useMemo, useRef, useState } from "react";

import { authorizedFetch } from "@/session/authorized";
import { Connection, type ConnectionState } from "./connection";
import { Ripple } from "./ripple";

const UNSEEN = 10_000; // milliseconds in the background after which the stream rests
const SELDOM = 30_000; // while the stream is there: not everything that can change has an event
const OFTEN = 5_000;

export interface Following {
  state: ConnectionState;
  /** For `refetchInterval`. */
  again: number;
  hurry: () => void;
}

/** What the stream of a place says of executions and of what is deployed: not of each task. */
export const workflowNews = (workflow: string) => `/api/v1/workflows/${workflow}/events/stream?type=workflow.*`;
export const projectNews = (project: string) => `/api/v1/projects/${project}/events/stream?type=workflow.*`;
export const allNews = () => "/api/v1/events/stream?type=workflow.*";

/** `const news = useFollow(projectNews(id), () => void list.refetch())`, with `refetchInterval: news.again`. Without an address nothing is followed. */
export function useFollow(url: string | null, read: () => void): Following {
  const [state, setState] = useState<ConnectionState>({ kind: "connecting" });
  const latest = useRef(read);
  latest.current = read;
  const hurry = useRef(() => undefined as void);
  useEffect(() => {
    if (url === null) return;
    const ripple = new Ripple(() => latest.current());
    let live = false;
    const connection = new Connection<{ id: number }>({
      url,
      fetch: authorizedFetch,
      onEntry: () => ripple.tell(),
      onState: (now) => {
        // Whatever happened before the stream was there is read once.
        if (now.kind === "live" && !live) ripple.tell();
        live = now.kind === "live";
        setState((was) => (was.kind === now.kind && now.kind !== "reconnecting" ? was : now));
      },
    });
    hurry.current = () => connection.hurry();
    const stop = whileSeen(connection);
    return () => {
      stop();
      connection.stop();
      ripple.stop();
    };
  }, [url]);
  const again = state.kind === "live" || state.kind === "connecting" ? SELDOM : OFTEN;
  return useMemo(() => ({ state, again, hurry: () => hurry.current() }), [state, again]);
}

/** A browser has six connections for all tabs of a site: who does not look needs none. */
function whileSeen(connection: Connection<{ id: number }>): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const looked = () => {
    clearTimeout(timer);
    if (document.visibilityState === "visible") connection.start();
    else timer = setTimeout(() => connection.rest(), UNSEEN);
  };
  const online = () => connection.hurry();
  connection.start();
  document.addEventListener("visibilitychange", looked);
  window.addEventListener("online", online);
  return () => {
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", looked);
    window.removeEventListener("online", online);
  };
}
