import { useQuery } from "@tanstack/react-query";

import { api } from "@/api/client";
import type { Project } from "@/api/places";
import { Page } from "@/components";
import { paths } from "@/paths";
import { type Place, useMyRole } from "./access";
import { DangerZone } from "./DangerZone";
import { InProject } from "./InPlace";
import { ReadOnly } from "./Needs";
import { atLeast } from "./roles";
import { SettingsForm } from "./SettingsForm";
import styles from "./Team.module.css";

export function Component() {
  return <InProject title="Settings">{(place, project) => <ProjectSettings key={place.id} place={place} project={project} />}</InProject>;
}

function ProjectSettings({ place, project }: { place: Place; project: Project }) {
  const own = useMyRole("project", project.id);
  const editable = atLeast(own, "editor");
  const params = { path: { id: project.id } };
  return (
    <Page title="Settings" crumbs={[{ to: paths.project(project.id), label: project.name }]} about={`Of the project ${project.name}.`}>
      {!editable && <ReadOnly role="editor" own={own} place={place} to="change them" />}
      <SettingsForm place={place} settings={project} editable={editable} save={(body) => api.put("/api/v1/projects/{id}", { params, body })} />
      <DangerZone place={place} own={own} then={paths.company(project.company_id)} remove={(force) => api.delete("/api/v1/projects/{id}", { params: { ...params, query: { force: String(force) } } })}>
        <WhatGoes project={project.id} />
      </DangerZone>
    </Page>
  );
}

function WhatGoes({ project }: { project: string }) {
  const workflows = useQuery({
    queryKey: ["workflows", project, "count"],
    queryFn: () => api.get("/api/v1/projects/{pid}/workflows", { params: { path: { pid: project }, query: { page_size: 1 } } }),
  });
  const total = workflows.data?.total;
  return (
    <>
      <p>This cannot be undone. With it go:</p>
      <ul className={styles["plain"]}>
        <li>{total === undefined ? "its workflows" : total === 1 ? "1 workflow" : `${total} workflows`}, with every version, run, log and event</li>
        <li>its secrets</li>
        <li>the roles that people have in it</li>
      </ul>
    </>
  );
}
