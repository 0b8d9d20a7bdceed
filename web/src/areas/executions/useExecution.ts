/** An execution, its steps and what happens to them, kept up to date by one stream of events. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useRef } from "react";

import { api } from "@/api/client";
import { type EventEntry, useHearing, withFilter } from "@/live";
import { executionQuery, hasEnded, textIn } from "./data";
import { placed } from "./steps";
import { useSteps } from "./useSteps";

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
  const { heard } = steps;
  const readAgain = useCallback(() => {
    heard();
    void cache.invalidateQueries({ queryKey: ["execution", id], exact: true });
  }, [cache, heard, id]);
  // No event is kept: of ten thousand, only what they are about is drawn.
  const news = live && start.data !== undefined ? withFilter(`/api/v1/workflows/${workflow}/events/stream`, { execution_id: id }) : null;
  const hearing = useHearing<EventEntry>(news, {
    after: start.data,
    onEntry: (event) => {
      const task = textIn(event.data, "task");
      if (task) heard(task);
      if (event.type.startsWith("workflow.")) readAgain();
    },
  });

  // Between the first reading and the stream's beginning something may have happened.
  useEffect(() => {
    if (start.data !== undefined) readAgain();
  }, [start.data, readAgain]);

  // Back after an absence: the stream gives every event, but the execution may have ended in a way that left none.
  const away = hearing.state.kind === "reconnecting";
  const wasAway = useRef(false);
  useEffect(() => {
    if (wasAway.current && !away) readAgain();
    wasAway.current = away;
  }, [away, readAgain]);

  const ended = execution.data ? hasEnded(execution.data.status) : false;
  useEffect(() => {
    if (ended) heard();
  }, [ended, heard]);

  const all = useMemo(() => placed(steps.steps), [steps.steps]);
  return { execution, steps, all, live, hearing };
}
