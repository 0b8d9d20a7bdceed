/** Who may do what at a company, an organization or a project. */
import { useQuery } from "@tanstack/react-query";

import { api } from "@/api/client";
import type { Role } from "./roles";

export type Kind = "company" | "project";

/** An organization is a company with a company above it. */
export interface Place {
  kind: Kind;
  id: string;
  name: string;
  word: "company" | "organization" | "project";
}

export const PAGE_SIZE = 50;

export const accessQuery = (kind: Kind, id: string, page = 1, pageSize = PAGE_SIZE) => ({
  queryKey: [kind, id, "access", page, pageSize],
  queryFn: () => {
    const params = { path: { id }, query: { page, page_size: pageSize } };
    return kind === "company"
      ? api.get("/api/v1/companies/{id}/access", { params })
      : api.get("/api/v1/projects/{id}/access", { params });
  },
});

export const myAccessQuery = (kind: Kind, id: string) => ({
  queryKey: [kind, id, "access", "me"],
  queryFn: () => {
    const params = { path: { id } };
    return kind === "company"
      ? api.get("/api/v1/companies/{id}/access/me", { params })
      : api.get("/api/v1/projects/{id}/access/me", { params });
  },
  staleTime: 30_000,
});

/** My effective role at a place; undefined while it is not known. */
export function useMyRole(kind: Kind, id: string | undefined): Role | undefined {
  const mine = useQuery({ ...myAccessQuery(kind, id ?? ""), enabled: Boolean(id) });
  return mine.data?.role as Role | undefined;
}

/** Names by user id, as far as they still have a role there. */
export function useNames(kind: Kind, id: string): Map<string, string> {
  const people = useQuery({ ...accessQuery(kind, id, 1, 100), staleTime: 60_000 });
  return new Map((people.data?.items ?? []).map(({ user }) => [user.id, user.display_name || user.email]));
}
