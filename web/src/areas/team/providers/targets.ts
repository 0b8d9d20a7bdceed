/** Where a mapping can give a role: everything inside the provider's company. */
import { useQueries, useQuery } from "@tanstack/react-query";

import { api } from "@/api/client";
import { organizationsQuery, projectsQuery } from "@/api/places";
import type { Place } from "../access";

export type TargetType = "company" | "organization" | "project" | "workflow";

export interface Target {
  type: TargetType;
  id: string;
  name: string;
}

export function useTargets(place: Place): Target[] {
  const organizations = useQuery({ ...organizationsQuery(place.id), enabled: place.word === "company" });
  const inside = organizations.data?.items ?? [];
  const projects = useQueries({ queries: [place.id, ...inside.map((one) => one.id)].map(projectsQuery) }).flatMap((query) => query.data?.items ?? []);
  const workflows = useQuery({ queryKey: ["workflows", "mine"], queryFn: () => api.get("/api/v1/workflows", { params: { query: { page_size: 100 } } }) });
  const known = new Map(projects.map((one) => [one.id, one.name]));
  return [
    { type: place.word as TargetType, id: place.id, name: place.name },
    ...inside.map((one): Target => ({ type: "organization", id: one.id, name: one.name })),
    ...projects.map((one): Target => ({ type: "project", id: one.id, name: one.name })),
    ...(workflows.data?.items ?? []).filter((one) => known.has(one.project_id)).map((one): Target => ({ type: "workflow", id: one.id, name: `${one.name} (${known.get(one.project_id)})` })),
  ];
}
