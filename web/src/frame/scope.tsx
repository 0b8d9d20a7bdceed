/** Which company and project one is in: what the frame's switcher and links are about.
 *
 * A page that belongs to a project or company says so with `useInProject(id)` or `useInCompany(id)`; between such pages,
 * and at the next visit, the last one stays.
 */
import { useQuery } from "@tanstack/react-query";
import { createContext, type ReactNode, useCallback, useContext, useEffect, useMemo, useState } from "react";

import { api } from "@/api/client";
import type { Company, Project } from "@/api/places";

interface Place {
  company: string | null;
  project: string | null;
}

interface Scope {
  place: Place;
  enter: (place: Place) => void;
}

const KEY = "penstock.place";
const Context = createContext<Scope>({ place: { company: null, project: null }, enter: () => undefined });

function remembered(): Place {
  try {
    const stored = JSON.parse(localStorage.getItem(KEY) ?? "{}") as Partial<Place>;
    return { company: stored.company ?? null, project: stored.project ?? null };
  } catch {
    return { company: null, project: null };
  }
}

export function ScopeProvider({ children }: { children: ReactNode }) {
  const [place, setPlace] = useState(remembered);
  const enter = useCallback((next: Place) => {
    setPlace((was) => {
      if (was.company === next.company && was.project === next.project) return was;
      localStorage.setItem(KEY, JSON.stringify(next));
      return next;
    });
  }, []);
  const value = useMemo(() => ({ place, enter }), [place, enter]);
  return <Context value={value}>{children}</Context>;
}

export function useScope(): Scope {
  return useContext(Context);
}

export const projectQuery = (id: string) => ({
  queryKey: ["project", id],
  queryFn: () => api.get("/api/v1/projects/{id}", { params: { path: { id } } }),
});

/** The company or organization that holds something; an organization says so by its `parent_id`. */
export const companyQuery = (id: string) => ({
  queryKey: ["company", id],
  queryFn: () => api.get("/api/v1/companies/{id}", { params: { path: { id } } }),
});

/** For pages of a project: loads it, and makes it the place where one is. */
export function useInProject(id: string | undefined) {
  const { enter } = useScope();
  const project = useQuery({ ...projectQuery(id ?? ""), enabled: id !== undefined });
  const company = project.data?.company_id;
  useEffect(() => {
    if (id && company) enter({ company, project: id });
  }, [id, company, enter]);
  return project;
}

/** For pages of a company (or an organization). */
export function useInCompany(id: string | undefined) {
  const { place, enter } = useScope();
  const company = useQuery({ ...companyQuery(id ?? ""), enabled: id !== undefined });
  const known = company.data?.id;
  useEffect(() => {
    if (known) enter({ company: known, project: place.company === known ? place.project : null });
  }, [known, enter, place.company, place.project]);
  return company;
}

/** Company and project of the place where one is; null while unknown, or when it is gone. */
export function usePlace(): { company: Company | null; project: Project | null } {
  const { place } = useScope();
  const project = useQuery({ ...projectQuery(place.project ?? ""), enabled: place.project !== null });
  const company = useQuery({ ...companyQuery(place.company ?? ""), enabled: place.company !== null });
  return {
    company: place.company !== null ? (company.data ?? null) : null,
    project: place.project !== null ? (project.data ?? null) : null,
  };
}
