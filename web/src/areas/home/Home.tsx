import { useQuery } from "@tanstack/react-query";
import { Link, Navigate } from "react-router";

import { api, type Schema } from "@/api/client";
import { meQuery } from "@/api/me";
import { type Company, companiesQuery, organizationsQuery, type Project, projectsQuery } from "@/api/places";
import { ButtonLink, EmptyState, ErrorState, Page, Section, Skeleton, SkeletonLines, Status, Table, TileLink, Time } from "@/components";
import { paths } from "@/paths";
import { myAccessQuery } from "../team/access";
import { atLeast } from "../team/roles";
import { useShared } from "./shared";

const recentQuery = {
  queryKey: ["workflows", "recent"],
  queryFn: () => api.get("/api/v1/workflows", { params: { query: { page_size: 8 } } }),
};

export function Component() {
  const me = useQuery(meQuery);
  const companies = useQuery(companiesQuery);
  const recent = useQuery(recentQuery);
  if (companies.error) return <Page title="Home"><ErrorState error={companies.error} onRetry={() => void companies.refetch()} /></Page>;
  if (companies.data?.total === 0) return <Navigate to={paths.welcome()} replace />;
  const name = me.data?.display_name.split(" ")[0];
  return (
    <Page title="Home" heading={name ? `Hello, ${name}` : "Home"} actions={<ButtonLink to={paths.welcome()} icon="plus">New company or project</ButtonLink>}>
      {companies.data ? companies.data.items.map((company) => <CompanyProjects key={company.id} company={company} />) : <SkeletonLines lines={2} height="5.5rem" />}
      {companies.data && <Shared companies={companies.data.items} />}
      <Section title="Newest workflows" actions={<Link to={paths.system()}>All workflows</Link>}>
        {recent.error ? <ErrorState error={recent.error} onRetry={() => void recent.refetch()} /> : recent.data ? <Recent workflows={recent.data.items} /> : <SkeletonLines lines={5} />}
      </Section>
    </Page>
  );
}

function CompanyProjects({ company }: { company: Company }) {
  const organizations = useQuery(organizationsQuery(company.id));
  const access = useQuery(myAccessQuery("company", company.id));
  const own = access.data?.role;
  // No role in the company itself: what one has further in is among what is shared.
  if (access.error) return null;
  return (
    <Section title={company.name} actions={<Link to={paths.company(company.id)}>Open company</Link>}>
      <div className="tiles">
        <Projects holder={company.id} />
        {(organizations.data?.items ?? []).map((one) => (
          <Projects key={one.id} holder={one.id} of={one.name} />
        ))}
        {atLeast(own, "editor") && (
          <TileLink to={`${paths.welcome()}?company=${company.id}`} fresh icon="plus" title="New project">A place for workflows, their secrets and the people who run them.</TileLink>
        )}
      </div>
    </Section>
  );
}

/** Projects to which one was added alone, in companies that one does not see. */
function Shared({ companies }: { companies: Company[] }) {
  const shared = useShared(companies);
  if (shared.length === 0) return null;
  return (
    <Section title="Shared with you">
      <div className="tiles">{shared.map((project) => <Tile key={project.id} project={project} />)}</div>
    </Section>
  );
}

export function Projects({ holder, of }: { holder: string; of?: string }) {
  const projects = useQuery(projectsQuery(holder));
  if (projects.isPending) return <Skeleton height="5.5rem" />;
  return (projects.data?.items ?? []).map((project) => (
    <Tile key={project.id} project={project} of={of} />
  ));
}

function Tile({ project, of }: { project: Project; of?: string | undefined }) {
  return <TileLink to={paths.project(project.id)} icon="folder" title={project.name}>{project.description || (of ? `In ${of}` : "No description")}</TileLink>;
}

function Recent({ workflows }: { workflows: Schema<"Workflow">[] }) {
  return (
    <Table
      label="Newest workflows"
      rows={workflows}
      rowKey={(row) => row.id}
      empty={<EmptyState icon="flow" title="No workflows yet">Open a project and start one from a template: it runs within a minute.</EmptyState>}
      columns={[
        { key: "name", head: "Workflow", width: "minmax(10rem, 3fr)", cell: (row) => <Link to={paths.workflow(row.id)}>{row.name}</Link> },
        { key: "status", head: "Status", width: "minmax(6.5rem, 1fr)", cell: (row) => <Status status={row.status} /> },
        { key: "version", head: "Version", width: "minmax(5rem, 1fr)", align: "end", wide: true, cell: (row) => row.version },
        { key: "updated", head: "Changed", width: "minmax(8rem, 1fr)", wide: true, cell: (row) => <Time at={row.updated_at} /> },
      ]}
    />
  );
}
