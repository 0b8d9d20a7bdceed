/** The secrets of a project: their names, and which definitions mention them. Values go in and never come out. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";

import { api, type Schema } from "@/api/client";
import { Button, ConfirmDialog, EmptyState, ErrorState, IconButton, Page, Pagination, SkeletonLines, Table, Time, toast, usePage } from "@/components";
import { paths } from "@/paths";
import { PAGE_SIZE, type Place, useMyRole, useNames } from "./access";
import { InProject } from "./InPlace";
import { Needs } from "./Needs";
import { atLeast } from "./roles";
import { SecretDialog } from "./SecretDialog";
import { type Mention, mentionedIn } from "./secretUse";
import styles from "./Team.module.css";

type Secret = Schema<"Secret">;

export function Component() {
  return <InProject title="Secrets">{(place) => <Guarded key={place.id} place={place} />}</InProject>;
}

function Guarded({ place }: { place: Place }) {
  const own = useMyRole("project", place.id);
  const [asked, ask] = useState<{ name: string } | null>(null);
  const may = atLeast(own, "editor");
  return (
    <Page title="Secrets" crumbs={[{ to: paths.project(place.id), label: place.name }]} about="Passwords and keys for workflows. Their names can be seen, their values never again."
      actions={may && <Button kind="primary" icon="plus" onClick={() => ask({ name: "" })}>New secret</Button>}>
      {own === undefined ? <SkeletonLines /> : may ? <Secrets place={place} ask={ask} /> : (
        <Needs role="editor" own={own} place={place} what="The list of secrets">Who writes workflows sees the names of the secrets that they may use.</Needs>
      )}
      <SecretDialog asked={asked} project={place.id} onClose={() => ask(null)} />
    </Page>
  );
}

function Secrets({ place, ask }: { place: Place; ask: (asked: { name: string }) => void }) {
  const [page, setPage] = usePage();
  const [going, setGoing] = useState<string | null>(null);
  const cache = useQueryClient();
  const secrets = useQuery({
    queryKey: ["secrets", place.id, page],
    queryFn: () => api.get("/api/v1/projects/{id}/secrets", { params: { path: { id: place.id }, query: { page, page_size: PAGE_SIZE } } }),
  });
  const workflows = useQuery({
    queryKey: ["workflows", place.id, "definitions"],
    queryFn: () => api.get("/api/v1/projects/{pid}/workflows", { params: { path: { pid: place.id }, query: { page_size: 100 } } }),
  });
  const names = useNames("project", place.id);
  if (secrets.error) return <ErrorState error={secrets.error} onRetry={() => void secrets.refetch()} />;
  if (!secrets.data) return <SkeletonLines />;
  const use = (name: string) => mentionedIn(name, workflows.data?.items ?? []);
  return (
    <>
      <Table<Secret>
        label="Secrets"
        rows={secrets.data.items}
        rowKey={(row) => row.name}
        empty={
          <EmptyState icon="key" title="No secrets yet" actions={<Button kind="primary" icon="plus" onClick={() => ask({ name: "" })}>New secret</Button>}>
            A workflow names the secrets that it uses under <code>use: secrets</code>, and reads one as <code>{"${ $secrets.NAME }"}</code>. Values are kept encrypted and masked in runs and logs.
          </EmptyState>
        }
        columns={[
          { key: "name", head: "Name", width: "minmax(0, 2fr)", cell: (row) => <span className={styles["two"]}><code>{row.name}</code><span className={styles["onPhone"]}>set <Time at={row.updated_at} /></span></span> },
          { key: "use", head: "Mentioned in", width: "minmax(0, 3fr)", wide: true, cell: (row) => <Mentions of={use(row.name)} /> },
          { key: "changed", head: "Set", width: "minmax(7rem, 2fr)", wide: true, cell: (row) => (
            <span className={styles["two"]}>
              <Time at={row.updated_at} />
              {names.get(row.updated_by) && <span>by {names.get(row.updated_by)}</span>}
            </span>
          ) },
          { key: "do", head: <span className="visually-hidden">Actions</span>, width: "max-content", align: "end", cell: (row) => (
            <span className={styles["buttons"]}>
              <IconButton icon="edit" size="small" label={`Replace ${row.name}`} onClick={() => ask({ name: row.name })} />
              <IconButton icon="trash" size="small" label={`Delete ${row.name}`} onClick={() => setGoing(row.name)} />
            </span>
          ) },
        ]}
      />
      <Pagination page={page} pageSize={PAGE_SIZE} total={secrets.data.total} shown={secrets.data.items.length} onPage={setPage} />
      <ConfirmDialog
        open={going !== null}
        onClose={() => setGoing(null)}
        title={`Delete ${going ?? ""}?`}
        action="Delete secret"
        onConfirm={async () => {
          await api.delete("/api/v1/projects/{id}/secrets/{name}", { params: { path: { id: place.id, name: going ?? "" } } });
          toast(`${going} was deleted`);
          await cache.invalidateQueries({ queryKey: ["secrets", place.id] });
        }}
      >
        <Consequence mentions={use(going ?? "")} />
      </ConfirmDialog>
    </>
  );
}

function Mentions({ of }: { of: Mention[] }) {
  if (of.length === 0) return <span className="muted">no workflow</span>;
  return of.slice(0, 3).map((one, index) => (
    <span key={one.id}>{index > 0 && ", "}<Link to={paths.workflowEdit(one.id)}>{one.name}</Link></span>
  )).concat(of.length > 3 ? [<span key="more"> and {of.length - 3} more</span>] : []);
}

function Consequence({ mentions }: { mentions: Mention[] }) {
  if (mentions.length === 0) return <p>No workflow of this project mentions it. Its value cannot be had back.</p>;
  return (
    <>
      <p>Its value cannot be had back, and runs that need it will fail:</p>
      <ul className={styles["plain"]}>{mentions.map((one) => <li key={one.id}>{one.name}</li>)}</ul>
    </>
  );
}
