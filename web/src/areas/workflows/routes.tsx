/** Workflows: the list of a project, a new one, and all pages of one. */
import type { RouteObject } from "react-router";

import { api } from "@/api/client";
import { registerSearch } from "@/frame/search";
import { paths } from "@/paths";

export const routes: RouteObject[] = [
  { path: "projects/:projectId", lazy: () => import("../Coming") },
  { path: "projects/:projectId/new", lazy: () => import("../Coming") },
  { path: "workflows/:workflowId/*", lazy: () => import("../Coming") },
];

registerSearch({
  id: "workflows",
  title: "Workflows",
  find: async (query, _place, signal) => {
    const page = await api.get("/api/v1/workflows", { params: { query: { page_size: 8, ...(query ? { q: query } : {}) } }, signal });
    return page.items.map((one) => ({ key: `workflow-${one.id}`, title: one.name, about: one.status, icon: "flow", to: paths.workflow(one.id) }));
  },
});
