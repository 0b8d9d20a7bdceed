import { useQuery } from "@tanstack/react-query";
import { useParams } from "react-router";

import { companyQuery, useInCompany } from "@/frame/scope";
import { organizationsQuery, projectsQuery } from "@/api/places";
import { ButtonLink, EmptyState, ErrorState, Page, Section, SkeletonLines } from "@/components";
import { paths } from "@/paths";
import { useMyRole } from "../team/access";
import { NewOrganization } from "../team/NewOrganization";
import { atLeast } from "../team/roles";
import { Projects } from "./Home";

/** The projects of a company or an organization. */
export function Component() {
  const { companyId = "" } = useParams();
  const company = useInCompany(companyId);
  const parent = useQuery({ ...companyQuery(company.data?.parent_id ?? ""), enabled: Boolean(company.data?.parent_id) });
  const organizations = useQuery({ ...organizationsQuery(companyId), enabled: company.data?.parent_id === null });
  const projects = useQuery(projectsQuery(companyId));
  const own = useMyRole("company", companyId);
  if (company.error) return <Page title="Company"><ErrorState error={company.error} onRetry={() => void company.refetch()} /></Page>;
  const items = organizations.data?.items ?? [];
  const nothing = projects.data?.total === 0 && items.length === 0;
  const create = atLeast(own, "editor") && <ButtonLink kind="primary" icon="plus" to={`${paths.welcome()}?company=${companyId}`}>New project</ButtonLink>;
  return (
    <Page
      title={company.data?.name ?? "Company"}
      about={company.data && (company.data.parent_id ? "Organization" : "Company")}
      crumbs={parent.data ? [{ to: paths.company(parent.data.id), label: parent.data.name }] : []}
      actions={<>{atLeast(own, "admin") && company.data?.parent_id === null && <NewOrganization company={companyId} />}{!nothing && create}</>}
    >
      {nothing ? (
        <div className="card">
          <EmptyState icon="folder" title="No projects yet" actions={create}>
            A project holds workflows, the secrets that they use, and the people who may see, change or run them.
          </EmptyState>
        </div>
      ) : (
        <Section title="Projects">
          {projects.isPending ? <SkeletonLines lines={1} height="5.5rem" /> : <div className="tiles"><Projects holder={companyId} /></div>}
        </Section>
      )}
      {items.map((one) => (
        <Section key={one.id} title={one.name} actions={<ButtonLink size="small" to={paths.company(one.id)}>Open organization</ButtonLink>}>
          <div className="tiles"><Projects holder={one.id} /></div>
        </Section>
      ))}
    </Page>
  );
}
