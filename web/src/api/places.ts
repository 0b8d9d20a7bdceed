/** Companies, their organizations and the projects in them. */
import { api, type Schema } from "./client";

export type Company = Schema<"CompanyPage">["items"][number];
export type Project = Schema<"ProjectPage">["items"][number];

const ALL = { page_size: 100 };

export const companiesQuery = {
  queryKey: ["companies"],
  queryFn: () => api.get("/api/v1/companies", { params: { query: ALL } }),
  staleTime: 30_000,
};

export const organizationsQuery = (company: string) => ({
  queryKey: ["organizations", company],
  queryFn: () => api.get("/api/v1/companies/{cid}/organizations", { params: { path: { cid: company }, query: ALL } }),
  staleTime: 30_000,
});

/** Wherever they are: also in companies in which one has no role. */
export const myProjectsQuery = {
  queryKey: ["projects", "mine"],
  queryFn: () => api.get("/api/v1/projects", { params: { query: ALL } }),
  staleTime: 30_000,
};

/** Of a company or an organization. */
export const projectsQuery = (holder: string) => ({
  queryKey: ["projects", holder],
  queryFn: () => api.get("/api/v1/organizations/{oid}/projects", { params: { path: { oid: holder }, query: ALL } }),
  staleTime: 30_000,
});
