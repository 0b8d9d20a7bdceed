/** Giving and taking roles; companies and projects differ in their addresses only. */
import { api } from "@/api/client";
import type { Place } from "./access";

type Whom = { email: string } | { user_id: string };

/** A role here for somebody who has none here yet. In a project, also another one. */
export function addMember(place: Place, whom: Whom, role: string): Promise<unknown> {
  const init = { params: { path: { id: place.id } }, body: { ...whom, role } };
  return place.kind === "company" ? api.post("/api/v1/companies/{id}/members", init) : api.post("/api/v1/projects/{id}/members", init);
}

export function changeMember(place: Place, user: string, role: string): Promise<unknown> {
  if (place.kind === "project") return addMember(place, { user_id: user }, role);
  return api.put("/api/v1/companies/{id}/members/{uid}", { params: { path: { id: place.id, uid: user } }, body: { role } });
}

export function removeMember(place: Place, user: string): Promise<unknown> {
  const init = { params: { path: { id: place.id, uid: user } } };
  return place.kind === "company" ? api.delete("/api/v1/companies/{id}/members/{uid}", init) : api.delete("/api/v1/projects/{id}/members/{uid}", init);
}
