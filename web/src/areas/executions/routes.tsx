/** Executions: lists over many workflows, and the live view of one. */
import type { RouteObject } from "react-router";

import { api } from "@/api/client";
import { registerSearch } from "@/frame/search";
import { paths } from "@/paths";

export const routes: RouteObject[] = [
  { path: "executions", lazy: () => import("./List") },
  { path: "projects/:projectId/executions", lazy: () => import("./List") },
  {
    path: "executions/:executionId",
    lazy: () => import("./Execution"),
    children: [
      { index: true, lazy: () => import("./GraphTab") },
      { path: "timeline", lazy: () => import("./TimelineTab") },
      { path: "logs", lazy: () => import("./Logs") },
      { path: "events", lazy: () => import("./Events") },
      { path: "data", lazy: () => import("./Data") },
      { path: "relatives", lazy: () => import("./Relatives") },
    ],
  },
];

registerSearch({
  id: "executions",
  title: "Executions",
  find: async (query, _place, signal) => {
    if (query.length < 8) return [];
    const found = await api.get("/api/v1/search", { params: { query: { q: query } }, signal });
    return found.executions.map((one) => ({ key: `execution-${one.id}`, title: one.workflow_name, about: `${one.status}, ${one.id}`, icon: "play", to: paths.execution(one.id) }));
  },
});
