/** Pages of a company or a project: load it, say where one is, then show the page. */
import type { ReactNode } from "react";
import { useParams } from "react-router";

import { ErrorState, Page, SkeletonLines } from "@/components";
import { useInCompany, useInProject } from "@/frame/scope";
import type { Company, Project } from "@/api/places";
import type { Place } from "./access";

export function InCompany({ title, children }: { title: string; children: (place: Place, company: Company) => ReactNode }) {
  const { companyId } = useParams();
  const company = useInCompany(companyId);
  if (company.error) return <Page title={title}><ErrorState error={company.error} onRetry={() => void company.refetch()} /></Page>;
  if (!company.data) return <Page title={title}><SkeletonLines /></Page>;
  const { id, name, parent_id } = company.data;
  return children({ kind: "company", id, name, word: parent_id ? "organization" : "company" }, company.data);
}

export function InProject({ title, children }: { title: string; children: (place: Place, project: Project) => ReactNode }) {
  const { projectId } = useParams();
  const project = useInProject(projectId);
  if (project.error) return <Page title={title}><ErrorState error={project.error} onRetry={() => void project.refetch()} /></Page>;
  if (!project.data) return <Page title={title}><SkeletonLines /></Page>;
  const { id, name } = project.data;
  return children({ kind: "project", id, name, word: "project" }, project.data);
}
