/** The identity providers of a company: where its people sign in, and what that gives them. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";

import { Badge, ButtonLink, EmptyState, ErrorState, Page, SkeletonLines, Table, Time } from "@/components";
import { paths } from "@/paths";
import { type Place, useMyRole } from "../access";
import { InCompany } from "../InPlace";
import { ReadOnly } from "../Needs";
import { atLeast } from "../roles";
import styles from "../Team.module.css";
import { titleOf } from "./kinds";
import { type Provider, providersQuery } from "./queries";

export function Component() {
  return <InCompany title="Identity providers">{(place) => <Providers key={place.id} place={place} />}</InCompany>;
}

function Providers({ place }: { place: Place }) {
  const own = useMyRole("company", place.id);
  const providers = useQuery(providersQuery(place.id));
  const may = atLeast(own, "admin");
  const add = may && <ButtonLink kind="primary" icon="plus" to={paths.companyProviderNew(place.id)}>Add provider</ButtonLink>;
  return (
    <Page title="Identity providers" crumbs={[{ to: paths.company(place.id), label: place.name }]} about={`Where people of ${place.name} sign in, and which roles that gives them.`}
      actions={providers.data?.total ? add : undefined}>
      {!may && <ReadOnly role="admin" own={own} place={place} to="add, change or test them" />}
      {providers.error ? <ErrorState error={providers.error} onRetry={() => void providers.refetch()} /> : !providers.data ? <SkeletonLines lines={3} /> : (
        <Table<Provider>
          label="Identity providers"
          rows={providers.data.items}
          rowKey={(row) => row.id}
          empty={
            <EmptyState icon="shield" title="No identity providers yet" actions={add}>
              With one, people come in with their company account (OpenID Connect, SAML or LDAP), and role mappings decide what they may do here.
            </EmptyState>
          }
          columns={[
            { key: "name", head: "Name", width: "minmax(0, 3fr)", cell: (row) => <span className={styles["two"]}><Link to={paths.companyProvider(place.id, row.id)}>{row.name}</Link><span className={styles["onPhone"]}>{titleOf(row.provider_type)}</span></span> },
            { key: "type", head: "Type", width: "minmax(0, 2fr)", wide: true, cell: (row) => titleOf(row.provider_type) },
            { key: "state", head: "State", width: "max-content", cell: (row) => <Enabled on={row.enabled} /> },
            { key: "changed", head: "Changed", width: "minmax(7rem, 1fr)", wide: true, cell: (row) => <Time at={row.updated_at} /> },
          ]}
        />
      )}
    </Page>
  );
}

export function Enabled({ on }: { on: boolean }) {
  return on ? <Badge tone="ok" icon="check">On</Badge> : <Badge icon="stop">Off</Badge>;
}
