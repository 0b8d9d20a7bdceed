import { useQueries, useQuery } from "@tanstack/react-query";
import { useEffect } from "react";

import { companiesQuery, myProjectsQuery, organizationsQuery, projectsQuery } from "@/api/places";
import { Icon, Menu, type MenuEntry } from "@/components";
import { paths } from "@/paths";
import styles from "./Frame.module.css";
import { companyQuery, projectQuery, usePlace, useScope } from "./scope";

/** Another project, another company. Projects are listed for the company that one is in. */
export function Switcher() {
  const { company, project } = usePlace();
  const companies = useQuery(companiesQuery);
  useSomewhere(companies.data?.items[0]?.id);
  const root = company?.parent_id ?? company?.id ?? null;
  const organizations = useQuery({ ...organizationsQuery(root ?? ""), enabled: root !== null });
  const holders = root ? [root, ...(organizations.data?.items ?? []).map((one) => one.id)] : [];
  const held = useQueries({ queries: holders.map(projectsQuery) }).flatMap((query) => query.data?.items ?? []);
  const mine = useQuery({ ...myProjectsQuery, enabled: root === null });
  const projects = root ? held : (mine.data?.items ?? []);
  const entries: MenuEntry[] = [
    ...(projects.length ? [{ kind: "label", label: "Projects" } as const] : []),
    ...projects.map((one) => ({ label: one.name, icon: "folder" as const, to: paths.project(one.id), current: one.id === project?.id })),
    { kind: "label", label: "Companies" },
    ...(companies.data?.items ?? []).map((one) => ({ label: one.name, icon: "building" as const, to: paths.company(one.id), current: one.id === root })),
    { kind: "rule" },
    { label: "New company, project", icon: "plus", to: paths.welcome() },
  ];
  return (
    <Menu
      entries={entries}
      trigger={(given) => (
        <button type="button" className={styles["switch"]} {...given}>
          <span>
            <b>{project?.name ?? company?.name ?? "Choose a project"}</b>
            <small>{project ? (company?.name ?? " ") : company ? "Company" : "or a company"}</small>
          </span>
          <Icon name="down" size={14} />
        </button>
      )}
    />
  );
}

/** Nowhere yet, or somewhere that is gone or was somebody else's: then in the first company, and its first project. */
function useSomewhere(first: string | undefined): void {
  const { place, enter } = useScope();
  const unseen = useQuery({ ...companyQuery(place.company ?? ""), enabled: place.company !== null }).isError;
  const unseenProject = useQuery({ ...projectQuery(place.project ?? ""), enabled: place.project !== null }).isError;
  // Who was added to a project alone is in it, although not in its company.
  const gone = unseen && (place.project === null || unseenProject);
  const lost = place.company === null || gone;
  const projects = useQuery({ ...projectsQuery(first ?? ""), enabled: lost && first !== undefined });
  const project = projects.data ? (projects.data.items.at(-1)?.id ?? null) : undefined;
  useEffect(() => {
    if (lost && first !== undefined && project !== undefined) enter({ company: first, project });
  }, [lost, first, project, enter]);
}
