/** Workflows: the list of a project, a new one, and all pages of one. */
import type { RouteObject } from "react-router";

import { api } from "@/api/client";
import { registerSearch } from "@/frame/search";
import { paths } from "@/paths";

export const routes: RouteObject[] = [
  { path: "projects/:projectId", lazy: () => import("./List") },
  { path: "projects/:projectId/new", lazy: () => import("./New") },
  {
    path: "workflows/:workflowId",
    lazy: () => import("./Workflow"),
    children: [
      { index: true, lazy: () => import("./overview/Overview") },
      { path: "edit", lazy: () => import("./editor/Edit") },
      { path: "runs", lazy: () => import("./Runs") },
      { path: "versions", lazy: () => import("./versions/Versions") },
      { path: "versions/:version", lazy: () => import("./versions/Versions") },
      { path: "logs", lazy: () => import("./Logs") },
      { path: "events", lazy: () => import("./Events") },
      { path: "links", lazy: () => import("./Links") },
      { path: "permissions", lazy: () => import("./Permissions") },
      { path: "settings", lazy: () => import("./Settings") },
    ],
  },
];

registerSearch({
  id: "workflows",
  title: "Workflows",
  find: async (query, _place, signal) => {
    const page = await api.get("/api/v1/workflows", { params: { query: { page_size: 8, ...(query ? { q: query } : {}) } }, signal });
    return page.items.map((one) => ({ key: `workflow-${one.id}`, title: one.name, about: one.status, icon: "flow", to: paths.workflow(one.id) }));
  },
});
