/** The people and settings of companies and projects: members, secrets, identity providers, audit log. */
import type { RouteObject } from "react-router";

export const routes: RouteObject[] = [
  { path: "companies/:companyId/members", lazy: () => import("./CompanyMembers") },
  { path: "companies/:companyId/providers", lazy: () => import("./providers/Providers") },
  { path: "companies/:companyId/providers/new", lazy: () => import("./providers/NewProvider") },
  { path: "companies/:companyId/providers/:providerId", lazy: () => import("./providers/Provider") },
  { path: "companies/:companyId/audit", lazy: () => import("./audit/Audit") },
  { path: "companies/:companyId/settings", lazy: () => import("./CompanySettings") },
  { path: "projects/:projectId/members", lazy: () => import("./ProjectMembers") },
  { path: "projects/:projectId/secrets", lazy: () => import("./Secrets") },
  { path: "projects/:projectId/settings", lazy: () => import("./ProjectSettings") },
];
