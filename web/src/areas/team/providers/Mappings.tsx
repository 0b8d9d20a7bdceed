/** Role mappings: who comes in with which name or group gets which role where. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { api } from "@/api/client";
import { Button, ConfirmDialog, Dialog, DialogActions, EmptyState, ErrorState, Field, IconButton, Pagination, ProblemNote, Section, Select, SkeletonLines, Table, toast, usePage } from "@/components";
import { useSubmit } from "@/lib/useSubmit";
import type { Place } from "../access";
import { RoleBadge } from "../Members";
import { RoleChoice } from "../RoleChoice";
import teamStyles from "../Team.module.css";
import { type Mapping, mappingsQuery, type Provider } from "./queries";
import { type Target, type TargetType, useTargets } from "./targets";

export function Mappings({ place, provider, may }: { place: Place; provider: Provider; may: boolean }) {
  const [page, setPage] = usePage();
  const mappings = useQuery(mappingsQuery(provider.id, page));
  const targets = useTargets(place);
  const [adding, setAdding] = useState(false);
  const [going, setGoing] = useState<Mapping | null>(null);
  const cache = useQueryClient();
  const refresh = () => cache.invalidateQueries({ queryKey: ["provider", provider.id, "mappings"] });
  const where = (mapping: Mapping) => `${mapping.resource_type} ${targets.find((one) => one.id === mapping.resource_id)?.name ?? mapping.resource_id}`;
  const add = may && <Button size="small" icon="plus" onClick={() => setAdding(true)}>Add mapping</Button>;
  return (
    <Section title="Role mappings" actions={mappings.data?.total ? add : undefined}>
      {mappings.error ? <ErrorState error={mappings.error} onRetry={() => void mappings.refetch()} /> : !mappings.data ? <SkeletonLines lines={3} /> : (
        <Table<Mapping>
          label="Role mappings"
          rows={mappings.data.items}
          rowKey={(row) => row.id}
          empty={
            <EmptyState icon="people" title="No role mappings" actions={add}>
              Without one, people who come in have no role. Map a group, an email or a subject at the provider to a role here: it is given at sign-in and taken back when it no longer holds.
            </EmptyState>
          }
          columns={[
            { key: "who", head: "Name at the provider", width: "minmax(0, 3fr)", cell: (row) => <span className={teamStyles["two"]}><code>{row.external_identifier}</code><span className={teamStyles["onPhone"]}>{where(row)}</span></span> },
            { key: "role", head: "Role", width: "max-content", cell: (row) => <RoleBadge role={row.role} /> },
            { key: "where", head: "Where", width: "minmax(0, 3fr)", wide: true, cell: where },
            { key: "do", head: <span className="visually-hidden">Actions</span>, width: "max-content", align: "end", cell: (row) => may && (
              <IconButton icon="trash" size="small" label={`Delete the mapping of ${row.external_identifier}`} onClick={() => setGoing(row)} />
            ) },
          ]}
        />
      )}
      {mappings.data && <Pagination page={page} pageSize={50} total={mappings.data.total} shown={mappings.data.items.length} onPage={setPage} />}
      <Dialog open={adding} onClose={() => setAdding(false)} title="Add a role mapping">
        <Form provider={provider.id} targets={targets} onClose={() => setAdding(false)} onDone={refresh} />
      </Dialog>
      <ConfirmDialog open={going !== null} onClose={() => setGoing(null)} title="Delete this mapping?" action="Delete mapping"
        onConfirm={async () => {
          await api.delete("/api/v1/iam/mappings/{id}", { params: { path: { id: going?.id ?? "" } } });
          toast("The mapping was deleted");
          await refresh();
        }}
      >
        Everybody who is {going?.role} of the {going && where(going)} through <code>{going?.external_identifier}</code> is so no longer, at once.
      </ConfirmDialog>
    </Section>
  );
}

const WORDS: Record<TargetType, string> = { company: "Company", organization: "Organizations", project: "Projects", workflow: "Workflows" };

function Form({ provider, targets, onClose, onDone }: { provider: string; targets: Target[]; onClose: () => void; onDone: () => Promise<unknown> }) {
  const [chosen, setChosen] = useState(targets[0]?.id ?? "");
  const target = targets.find((one) => one.id === chosen);
  const own = useRoleAt(target);
  const { busy, problem, onSubmit } = useSubmit(async (field) => {
    if (!target) return;
    const body = { external_identifier: field("external_identifier").trim(), resource_type: target.type, resource_id: target.id, role: field("role") };
    await api.post("/api/v1/iam/providers/{id}/mappings", { params: { path: { id: provider } }, body });
    toast("It counts from the next sign-in on");
    onClose();
    await onDone();
  });
  return (
    <form className={teamStyles["form"]} onSubmit={onSubmit}>
      <Field label="Name at the provider" name="external_identifier" required autoFocus autoComplete="off" spellCheck={false} placeholder="engineering" maxLength={1024}
        hint="A group, an email, or the subject: exactly as the provider writes it." error={problem?.field("external_identifier")} />
      <Select label="Where" value={chosen} onChange={(event) => setChosen(event.target.value)} error={problem?.field("resource_id")}>
        {(Object.keys(WORDS) as TargetType[]).map((type) => {
          const some = targets.filter((one) => one.type === type);
          return some.length > 0 && <optgroup key={type} label={WORDS[type]}>{some.map((one) => <option key={one.id} value={one.id}>{one.name}</option>)}</optgroup>;
        })}
      </Select>
      <RoleChoice key={`${chosen} ${own}`} own={own} />
      {problem && <ProblemNote problem={problem} />}
      <DialogActions>
        <Button onClick={onClose}>Cancel</Button>
        <Button kind="primary" type="submit" busy={busy} disabled={!own}>Add mapping</Button>
      </DialogActions>
    </form>
  );
}

/** Nobody maps a role above their own, which may be another one at each place. */
function useRoleAt(target: Target | undefined): string | undefined {
  const mine = useQuery({
    queryKey: [target?.type === "organization" ? "company" : (target?.type ?? ""), target?.id, "access", "me"],
    queryFn: () => {
      const params = { path: { id: target?.id ?? "" } };
      if (target?.type === "project") return api.get("/api/v1/projects/{id}/access/me", { params });
      if (target?.type === "workflow") return api.get("/api/v1/workflows/{id}/access/me", { params });
      return api.get("/api/v1/companies/{id}/access/me", { params });
    },
    enabled: target !== undefined,
  });
  return mine.data?.role;
}
