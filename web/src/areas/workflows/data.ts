/** What the pages of workflows ask of the server. */
import { type QueryClient, useQuery } from "@tanstack/react-query";

import { api, type Schema } from "@/api/client";
import { asProblem, problemFrom } from "@/api/problem";
import { authorizedFetch } from "@/session/authorized";

export type Workflow = Schema<"Workflow">;
export type Execution = Schema<"Execution">;
export type Examined = Schema<"Examined">;
export type Role = "viewer" | "editor" | "admin" | "owner";

const ROLES: Role[] = ["viewer", "editor", "admin", "owner"];
export const atLeast = (role: string | undefined, wanted: Role) => ROLES.indexOf(role as Role) >= ROLES.indexOf(wanted);

/** A workflow as it was read, with the tag that says whether it still is so. */
export interface Tagged {
  workflow: Workflow;
  etag: string;
}

async function tagged(request: Request): Promise<Tagged> {
  let response: Response;
  try {
    response = await authorizedFetch(request);
  } catch (error) {
    throw asProblem(error);
  }
  const body: unknown = await response.json().catch(() => null);
  if (!response.ok) throw problemFrom(body, response);
  return { workflow: body as Workflow, etag: response.headers.get("etag") ?? "*" };
}

const addressOf = (id: string) => `/api/v1/workflows/${encodeURIComponent(id)}`;

export const workflowQuery = (id: string) => ({
  queryKey: ["workflow", id],
  queryFn: ({ signal }: { signal: AbortSignal }) => tagged(new Request(addressOf(id), { signal })),
});

export interface WorkflowChange {
  name?: string;
  slug?: string;
  description?: string;
  config_yaml?: string;
}

/** Throws a `Problem` of status 412 when somebody changed it since `etag` was read. */
export function changeWorkflow(id: string, etag: string, change: WorkflowChange): Promise<Tagged> {
  const headers = { "content-type": "application/json", "if-match": etag };
  return tagged(new Request(addressOf(id), { method: "PUT", headers, body: JSON.stringify(change) }));
}

const ofWorkflow = (id: string) => ({ params: { path: { id } } });

export const accessQuery = (id: string) => ({
  queryKey: ["workflow", id, "access", "me"],
  queryFn: () => api.get("/api/v1/workflows/{id}/access/me", ofWorkflow(id)),
  staleTime: 60_000,
});

/** Who may be met here, by id: authors are written as ids. */
export const peopleQuery = (id: string) => ({
  queryKey: ["workflow", id, "access"],
  queryFn: () => api.get("/api/v1/workflows/{id}/access", { params: { path: { id }, query: { page_size: 100 } } }),
  staleTime: 60_000,
});

export const statusQuery = (id: string) => ({
  queryKey: ["workflow", id, "status"],
  queryFn: () => api.get("/api/v1/workflows/{id}/status", ofWorkflow(id)),
});

export const dashboardQuery = (id: string) => ({
  queryKey: ["workflow", id, "dashboard"],
  queryFn: () => api.get("/api/v1/workflows/{id}/dashboard", ofWorkflow(id)),
});

export const linksQuery = (id: string) => ({
  queryKey: ["workflow", id, "links"],
  queryFn: () => api.get("/api/v1/workflows/{id}/links", { params: { path: { id }, query: { page_size: 100 } } }),
});

export const versionQuery = (id: string, version: number) => ({
  queryKey: ["workflow", id, "version", version],
  queryFn: () => api.get("/api/v1/workflows/{id}/versions/{v}", { params: { path: { id, v: String(version) } } }),
  staleTime: Infinity,
});

/** The definition that runs: of an active workflow the version that is deployed, of a draft its newest. */
export function useRunning(workflow: Workflow): { version: number; text: string | undefined; isLoading: boolean } {
  const version = workflow.status === "active" ? (workflow.deployed_version ?? workflow.version) : workflow.version;
  const older = version !== workflow.version;
  const deployed = useQuery({ ...versionQuery(workflow.id, version), enabled: older });
  return { version, text: older ? deployed.data?.config_yaml : workflow.config_yaml, isLoading: older && deployed.isLoading };
}

/** What is wrong with a definition and what it would do; asked of the same text once. */
export const checkQuery = (text: string) => ({
  queryKey: ["check", text],
  queryFn: ({ signal }: { signal: AbortSignal }) => api.post("/api/v1/definitions/check", { body: { config_yaml: text }, signal }),
  staleTime: 60_000,
  gcTime: 120_000,
});

export const schemaQuery = {
  queryKey: ["definitions", "schema"],
  queryFn: () => api.get("/api/v1/definitions/schema"),
  staleTime: Infinity,
};

export const templatesQuery = {
  queryKey: ["templates"],
  queryFn: () => api.get("/api/v1/definitions/templates"),
  staleTime: Infinity,
};

/** After something was done to a workflow: everything about it is read again, and the lists that show it. */
export function changed(cache: QueryClient, id: string, now?: Tagged): void {
  if (now) cache.setQueryData(["workflow", id], now);
  void cache.invalidateQueries({ queryKey: ["workflow", id] });
  void cache.invalidateQueries({ queryKey: ["workflows"] });
}
