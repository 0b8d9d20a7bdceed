/** What the pages of executions ask of the server. */
import { api, type Schema } from "@/api/client";

export type Execution = Schema<"Execution">;
export type Step = Schema<"Step">;

export const executionQuery = (id: string) => ({
  queryKey: ["execution", id],
  queryFn: () => api.get("/api/v1/executions/{id}", { params: { path: { id }, query: { include: "triggered_by" } } }),
});

/** One step with its data; read again when it has changed. */
export const stepQuery = (id: string, number: number, status: string) => ({
  queryKey: ["execution", id, "step", number, status],
  queryFn: () => api.get("/api/v1/executions/{id}/steps/{number}", { params: { path: { id, number: String(number) } } }),
  staleTime: Infinity,
});

export function stepsAfter(id: string, after: number, page_size: number, signal?: AbortSignal) {
  const query = { after: String(after), data: "false", page_size } as const;
  return api.get("/api/v1/executions/{id}/steps", { params: { path: { id }, query }, signal: signal ?? null });
}

/** An execution says so itself in its metadata; the status stays `running`. */
export function statusOf(execution: Execution): string {
  return hasEnded(execution.status) || !pausedAt(execution) ? execution.status : "paused";
}

export const hasEnded = (status: string) => status === "completed" || status === "failed" || status === "cancelled";

function pausedAt(execution: Execution): string | null {
  return textIn(execution.metadata, "paused_at");
}

export function membersOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

export function textIn(value: unknown, name: string): string | null {
  const found = membersOf(value)[name];
  return typeof found === "string" ? found : null;
}

/** Where it comes from, as its metadata says. */
export interface Lineage {
  parent: string | null;
  link: string | null;
  rerunOf: string | null;
  from: string | null;
  origin: string | null;
}

export function lineageOf(execution: Execution): Lineage {
  const { metadata } = execution;
  const parent = textIn(membersOf(metadata)["parent"], "execution_id");
  const link = textIn(membersOf(metadata)["link"], "execution_id");
  const origin = textIn(metadata, "origin");
  return { parent, link, rerunOf: textIn(metadata, "rerun_of"), from: textIn(metadata, "from"), origin: origin === parent || origin === link ? null : origin };
}

const TRIGGERS: Record<string, string> = {
  manual: "on request",
  schedule: "by schedule",
  event: "by an event",
  link: "by a link from",
  subflow: "by",
};

/** What follows "Started …": before the execution that it came from, where there is one. */
export const triggerWords = (execution: Execution) =>
  lineageOf(execution).rerunOf ? "again, as" : (TRIGGERS[execution.trigger_type] ?? execution.trigger_type);

/** Ids begin with their time: the end is what tells them apart. */
export const shortId = (id: string) => id.slice(-8);
