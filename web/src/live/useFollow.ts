/** Keeps what a page has read true: a stream tells that something happened, and it is read again. Where there is no stream to be had, it is read every few seconds instead, and the page says so. */
import { useEffect, useMemo, useRef, useState } from "react";

import { Ripple } from "./ripple";
import { type Hearing, useHearing } from "./useHearing";

const SELDOM = 30_000; // while the stream is there: not everything that can change has an event
const OFTEN = 5_000;

export interface Following extends Hearing {
  /** For `refetchInterval`. */
  again: number;
}

/** What the stream of a place says of executions and of what is deployed: not of each task. */
export const workflowNews = (workflow: string) => `/api/v1/workflows/${workflow}/events/stream?type=workflow.*`;
export const projectNews = (project: string) => `/api/v1/projects/${project}/events/stream?type=workflow.*`;
export const allNews = () => "/api/v1/events/stream?type=workflow.*";

/** `const news = useFollow(projectNews(id), () => void list.refetch())`, with `refetchInterval: news.again`. Without an address nothing is followed. */
export function useFollow(url: string | null, read: () => void): Following {
  const latest = useRef(read);
  latest.current = read;
  const [ripple] = useState(() => new Ripple(() => latest.current()));
  useEffect(() => () => ripple.stop(), [ripple, url]);
  const hearing = useHearing(url, {
    onEntry: () => ripple.tell(),
    // Whatever happened before the stream was there is read once.
    onState: (now) => now.kind === "live" && ripple.tell(),
  });
  const { state } = hearing;
  const again = state.kind === "live" || state.kind === "connecting" ? SELDOM : OFTEN;
  return useMemo(() => ({ ...hearing, again }), [hearing, again]);
}
