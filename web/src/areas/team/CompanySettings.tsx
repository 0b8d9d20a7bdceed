import { useQueries, useQuery } from "@tanstack/react-query";

import { api } from "@/api/client";
import { type Company, organizationsQuery, projectsQuery } from "@/api/places";
import { ButtonLink, EmptyState, Page, Section, Table, Time } from "@/components";
import { paths } from "@/paths";
import { Link } from "react-router";
import { type Place, useMyRole } from "./access";
import { DangerZone } from "./DangerZone";
import { InCompany } from "./InPlace";
import { ReadOnly } from "./Needs";
import { NewOrganization } from "./NewOrganization";
import { atLeast } from "./roles";
import { SettingsForm } from "./SettingsForm";
import styles from "./Team.module.css";

export function Component() {
  return <InCompany title="Settings">{(place, company) => <CompanySettings key={place.id} place={place} company={company} />}</InCompany>;
}

function CompanySettings({ place, company }: { place: Place; company: Company }) {
  const own = useMyRole("company", company.id);
  const editable = atLeast(own, "admin");
  const params = { path: { id: company.id } };
  const organization = company.parent_id !== null;
  return (
    <Page title="Settings" crumbs={[{ to: paths.company(company.id), label: company.name }]} about={`Of the ${place.word} ${company.name}.`}>
      {!editable && <ReadOnly role="admin" own={own} place={place} to="change them" />}
      <SettingsForm place={place} settings={company} editable={editable}
        save={(body) => (organization ? api.put("/api/v1/organizations/{id}", { params, body }) : api.put("/api/v1/companies/{id}", { params, body }))} />
      {!organization && <Organizations company={company} editable={editable} />}
      <Projects holder={company.id} mayCreate={atLeast(own, "editor")} />
      <DangerZone place={place} own={own} then={company.parent_id ? paths.company(company.parent_id) : paths.home()}
        remove={(force) => {
          const init = { params: { ...params, query: { force: String(force) } } };
          return organization ? api.delete("/api/v1/organizations/{id}", init) : api.delete("/api/v1/companies/{id}", init);
        }}
      >
        <WhatGoes company={company} />
      </DangerZone>
    </Page>
  );
}

function Organizations({ company, editable }: { company: Company; editable: boolean }) {
  const organizations = useQuery(organizationsQuery(company.id));
  return (
    <Section title="Organizations" actions={editable && <NewOrganization company={company.id} size="small" />}>
      <Table
        label="Organizations"
        rows={organizations.data?.items ?? []}
        rowKey={(row) => row.id}
        empty={<EmptyState icon="building" title="No organizations">A department, a region or a client with projects and members of its own. Small companies need none.</EmptyState>}
        columns={[
          { key: "name", head: "Name", width: "minmax(0, 3fr)", cell: (row) => <Link to={paths.companySettings(row.id)}>{row.name}</Link> },
          { key: "slug", head: "Slug", width: "minmax(0, 2fr)", wide: true, cell: (row) => <code>{row.slug}</code> },
          { key: "created", head: "Created", width: "minmax(7rem, 1fr)", cell: (row) => <Time at={row.created_at} /> },
        ]}
      />
    </Section>
  );
}

function Projects({ holder, mayCreate }: { holder: string; mayCreate: boolean }) {
  const projects = useQuery(projectsQuery(holder));
  return (
    <Section title="Projects" actions={mayCreate && <ButtonLink size="small" icon="plus" to={`${paths.welcome()}?company=${holder}`}>New project</ButtonLink>}>
      <Table
        label="Projects"
        rows={projects.data?.items ?? []}
        rowKey={(row) => row.id}
        empty={<EmptyState icon="folder" title="No projects">A project holds workflows, their secrets, and who may see, change and run them.</EmptyState>}
        columns={[
          { key: "name", head: "Name", width: "minmax(0, 3fr)", cell: (row) => <Link to={paths.projectSettings(row.id)}>{row.name}</Link> },
          { key: "slug", head: "Slug", width: "minmax(0, 2fr)", wide: true, cell: (row) => <code>{row.slug}</code> },
          { key: "created", head: "Created", width: "minmax(7rem, 1fr)", cell: (row) => <Time at={row.created_at} /> },
        ]}
      />
    </Section>
  );
}

const count = (number: number, one: string) => (number === 1 ? `1 ${one}` : `${number} ${one}s`);

function WhatGoes({ company }: { company: Company }) {
  const organizations = useQuery({ ...organizationsQuery(company.id), enabled: company.parent_id === null });
  const inside = organizations.data?.items ?? [];
  const projects = useQueries({ queries: [company.id, ...inside.map((one) => one.id)].map(projectsQuery) });
  const total = projects.reduce((sum, query) => sum + (query.data?.total ?? 0), 0);
  return (
    <>
      <p>This cannot be undone. With it go:</p>
      <ul className={styles["plain"]}>
        {inside.length > 0 && <li>{count(inside.length, "organization")}</li>}
        <li>{count(total, "project")}, with every workflow, run, log and secret in {total === 1 ? "it" : "them"}</li>
        <li>the roles that people have, and the identity providers</li>
      </ul>
    </>
  );
}
