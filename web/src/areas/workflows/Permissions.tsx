/** Who may do what with this workflow, through what, and the roles that are given for it alone. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { api, type Schema } from "@/api/client";
import { meQuery } from "@/api/me";
import { Badge, Button, ConfirmDialog, Dialog, DialogActions, ErrorState, Field, IconButton, ProblemNote, Select, SkeletonLines, Table, toast } from "@/components";
import { useSubmit } from "@/lib/useSubmit";
import { atLeast, peopleQuery, type Role } from "./data";
import styles from "./Links.module.css";
import { useWorkflow } from "./Workflow";

type Access = Schema<"PersonAccess">;

const ROLE_WORDS: Record<Role, string> = {
  viewer: "Viewer: sees everything of it",
  editor: "Editor: also changes and triggers it",
  admin: "Admin: also deploys it and gives roles",
  owner: "Owner: also deletes it",
};

const ownGrant = (person: Access) => person.through.find((one) => one.level === "workflow" && one.provider === null);

export function Component() {
  const { id, may } = useWorkflow();
  const people = useQuery(peopleQuery(id));
  const me = useQuery(meQuery);
  const [giving, setGiving] = useState<{ person: Access | null } | null>(null);
  const [removing, setRemoving] = useState<Access | null>(null);
  const cache = useQueryClient();
  const reload = () => cache.invalidateQueries({ queryKey: ["workflow", id] });
  if (people.error) return <ErrorState error={people.error} onRetry={() => void people.refetch()} />;
  if (!people.data) return <SkeletonLines lines={5} height="3rem" />;
  const remove = async () => {
    if (!removing) return;
    await api.delete("/api/v1/workflows/{id}/permissions/{uid}", { params: { path: { id, uid: removing.user.id } } });
    toast("The role is taken back.");
    await reload();
  };
  return (
    <div className="stack">
      <div className="spread">
        <p className="muted">The most specific role counts: one given here before that of the project, and that before the company's.</p>
        {may("admin") && <Button icon="plus" onClick={() => setGiving({ person: null })}>Give a role here</Button>}
      </div>
      <Table
        label="People"
        rows={people.data.items}
        rowKey={(row) => row.user.id}
        columns={[
          { key: "who", head: "Who", width: "minmax(9rem, 2fr)", cell: (row) => <span className={styles["person"]}><b>{row.user.display_name || row.user.email}{row.user.id === me.data?.id && " (you)"}</b><small>{row.user.email}</small></span> },
          { key: "role", head: "Role", width: "minmax(6rem, 1fr)", cell: (row) => <Badge tone={atLeast(row.role, "admin") ? "run" : "still"}>{row.role}</Badge> },
          { key: "through", head: "Through", width: "minmax(8rem, 2fr)", wide: true, cell: (row) => row.through.map((one) => `${one.level === "workflow" ? "this workflow" : one.name}: ${one.role}${one.provider ? " (by mapping)" : ""}`).join(" · ") },
          {
            key: "actions", head: <span className="visually-hidden">Actions</span>, width: "3.5rem", align: "end",
            cell: (row) => may("admin") && <IconButton label={`Change the role of ${row.user.email} here`} icon="edit" size="small" onClick={() => setGiving({ person: row })} />,
          },
        ]}
      />
      <Dialog open={giving !== null} onClose={() => setGiving(null)} title={giving?.person ? "Change the role here" : "Give a role here"}>
        {giving && <Give id={id} person={giving.person} onClose={() => setGiving(null)} onDone={reload} onRemove={() => { setRemoving(giving.person); setGiving(null); }} />}
      </Dialog>
      <ConfirmDialog open={removing !== null} onClose={() => setRemoving(null)} onConfirm={remove} title="Take back the role given here?" action="Take back">
        <p>{removing?.user.email} then has the role that project or company give, if any.</p>
      </ConfirmDialog>
    </div>
  );
}

function Give({ id, person, onClose, onDone, onRemove }: { id: string; person: Access | null; onClose: () => void; onDone: () => Promise<unknown>; onRemove: () => void }) {
  const own = useWorkflow();
  const roles = (Object.keys(ROLE_WORDS) as Role[]).filter((role) => own.may(role));
  const { busy, problem, onSubmit } = useSubmit(async (field) => {
    const who = person ? { user_id: person.user.id } : { email: field("email").trim() };
    const given = await api.post("/api/v1/workflows/{id}/permissions", { params: { path: { id } }, body: { ...who, role: field("role") } });
    toast(`Given: ${given.role}.`);
    await onDone();
    onClose();
  });
  return (
    <form className={styles["form"]} onSubmit={onSubmit}>
      {person ? <p><b>{person.user.display_name}</b> <span className="muted">{person.user.email}</span></p> : (
        <Field label="Email" name="email" type="email" required autoFocus hint="Of somebody who has an account here." error={problem?.field("email")} />
      )}
      <Select label="Role for this workflow" name="role" defaultValue={(person && ownGrant(person)?.role) ?? person?.role ?? "viewer"} hint="It counts before any role in the project or above it, whether higher or lower.">
        {roles.map((role) => <option key={role} value={role}>{ROLE_WORDS[role]}</option>)}
      </Select>
      {problem && <ProblemNote problem={problem} />}
      <DialogActions>
        {person && ownGrant(person) && <Button kind="danger" onClick={onRemove}>Take back</Button>}
        <Button onClick={onClose}>Not now</Button>
        <Button kind="primary" type="submit" busy={busy}>Give role</Button>
      </DialogActions>
    </form>
  );
}
