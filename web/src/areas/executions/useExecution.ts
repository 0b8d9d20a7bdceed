/** An execution, its steps and what happens to them, kept up to date by one stream of events. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useRef } from "react";

import { api } from "@/api/client";
import { type EventEntry, useStream } from "@/live";
import { executionQuery, hasEnded } from "./data";
import { placed } from "./steps";
import { referencesIn, useSteps } from "./useSteps";

const KEPT = 2_000;

export function useExecution(id: string) {
  const cache = useQueryClient();
  const execution = useQuery({ ...executionQuery(id), staleTime: 5_000 });
  const workflow = execution.data?.workflow_id;
  const live = execution.data !== undefined && !hasEnded(execution.data.status);
  const steps = useSteps(id);

  // Where the stream begins is read before anything else is believed: what happens later is heard.
  const start = useQuery({
    queryKey: ["execution", id, "start"],
    queryFn: async () => (await api.get("/api/v1/workflows/{id}/events", { params: { path: { id: workflow ?? "" }, query: { page_size: 1 } } })).items[0]?.id ?? 0,
    enabled: live && workflow !== undefined,
    staleTime: Infinity,
    gcTime: 0,
  });
  const stream = useStream<EventEntry>(`/api/v1/workflows/${workflow}/events/stream`, {
    filter: { execution_id: id },
    after: start.data,
    most: KEPT,
    live: live && start.data !== undefined,
  });

  const { heard } = steps;
  const reads = cache.invalidateQueries.bind(cache);
  const seen = useRef(0);
  useEffect(() => {
    if (start.data !== undefined) {
      // Between the first reading and the stream's beginning something may have happened.
      heard("all");
      void reads({ queryKey: ["execution", id], exact: true });
    }
    // eslint-disable-next-line -- the cache stays the same
  }, [start.data, id, heard]);

  const last = stream.entries.at(-1)?.id ?? 0;
  useEffect(() => {
    const fresh = stream.entries.filter((one) => one.id > seen.current);
    if (fresh.length === 0) return;
    seen.current = last;
    heard(fresh.length >= KEPT ? "all" : referencesIn(fresh));
    if (fresh.some((one) => one.type.startsWith("workflow."))) {
      heard("all");
      void reads({ queryKey: ["execution", id], exact: true });
    }
    // eslint-disable-next-line -- the entries change with the last id
  }, [last, id, heard]);

  // Back after an absence: the stream gives every event, but the execution may have ended in a way that left none.
  const away = stream.state.kind === "reconnecting";
  const wasAway = useRef(false);
  useEffect(() => {
    if (wasAway.current && !away) {
      heard("all");
      void reads({ queryKey: ["execution", id], exact: true });
    }
    wasAway.current = away;
    // eslint-disable-next-line
  }, [away, id, heard]);

  const ended = execution.data ? hasEnded(execution.data.status) : false;
  useEffect(() => {
    if (ended) heard("all");
  }, [ended, heard]);

  const all = useMemo(() => placed(steps.steps), [steps.steps]);
  return { execution, steps, all, live, stream };
}
