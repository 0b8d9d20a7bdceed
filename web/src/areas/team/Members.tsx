/** Who may do what at a place, and through what; giving, changing and taking away roles. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useNavigate } from "react-router";

import { meQuery } from "@/api/me";
import { Badge, Button, ConfirmDialog, EmptyState, ErrorState, IconButton, Page, Pagination, SkeletonLines, Table, toast, usePage } from "@/components";
import { paths } from "@/paths";
import { accessQuery, PAGE_SIZE, type Place, useMyRole } from "./access";
import { AddMember, ChangeRole } from "./MemberDialogs";
import { removeMember } from "./membership";
import { ReadOnly } from "./Needs";
import { type Access, type Allowed, allowed, atLeast, type Grant, givenHere, lastOwner } from "./roles";
import styles from "./Team.module.css";

type Asked = { what: "add" } | { what: "change" | "remove"; person: Access } | null;

export function Members({ place }: { place: Place }) {
  const [page, setPage] = usePage();
  const people = useQuery(accessQuery(place.kind, place.id, page));
  const me = useQuery(meQuery);
  const own = useMyRole(place.kind, place.id);
  const [asked, ask] = useState<Asked>(null);
  const cache = useQueryClient();
  const navigate = useNavigate();
  const done = async (text: string, left = false) => {
    ask(null);
    toast(text);
    if (!left) return cache.invalidateQueries({ queryKey: [place.kind, place.id] });
    // Who left may not see this page any more, nor what was loaded by the role that is gone.
    await navigate(paths.home());
    await cache.resetQueries();
  };
  const home = place.kind === "company" ? paths.company(place.id) : paths.project(place.id);
  const mayAdd = atLeast(own, "admin");
  return (
    <Page
      title="Members"
      crumbs={[{ to: home, label: place.name }]}
      about={`Who may do what in ${place.name}, and through what.`}
      actions={mayAdd && <Button kind="primary" icon="plus" onClick={() => ask({ what: "add" })}>Add member</Button>}
    >
      {!mayAdd && <ReadOnly role="admin" own={own} place={place} to="add people or change their roles" />}
      {people.error ? (
        <ErrorState error={people.error} onRetry={() => void people.refetch()} />
      ) : !people.data || !me.data ? (
        <SkeletonLines lines={5} height="3.2rem" />
      ) : (
        <>
          <People people={people.data.items} whole={people.data.total <= PAGE_SIZE} place={place} me={{ id: me.data.id, role: own ?? "viewer" }} ask={ask} />
          <Pagination page={page} pageSize={PAGE_SIZE} total={people.data.total} shown={people.data.items.length} onPage={setPage} />
        </>
      )}
      <Explained place={place} />
      <AddMember open={asked?.what === "add"} place={place} own={own} onClose={() => ask(null)} onDone={done} />
      <ChangeRole person={asked?.what === "change" ? asked.person : null} place={place} own={own} onClose={() => ask(null)} onDone={done} />
      <Remove person={asked?.what === "remove" ? asked.person : null} place={place} me={me.data?.id} onClose={() => ask(null)} onDone={done} />
    </Page>
  );
}

function People({ people, whole, place, me, ask }: {
  people: Access[];
  /** All of them are on this page, so that one can tell who is the last owner. */
  whole: boolean;
  place: Place;
  me: { id: string; role: string };
  ask: (asked: Asked) => void;
}) {
  const last = whole && place.kind === "company" ? lastOwner(people, place.id) : undefined;
  const may = (person: Access) => allowed(person, me, place.id, last === person.user.id);
  return (
    <Table
      label="Members"
      rows={people}
      rowKey={(person) => person.user.id}
      empty={<EmptyState icon="people" title="Nobody yet">Add people by the email of their account.</EmptyState>}
      columns={[
        { key: "who", head: "Who", width: "minmax(0, 3fr)", cell: (person) => <Who person={person} place={place} myself={person.user.id === me.id} why={may(person).why} /> },
        { key: "role", head: "Role", width: "max-content", wide: true, cell: (person) => <RoleBadge role={person.role} /> },
        { key: "through", head: "Through", width: "minmax(0, 3fr)", wide: true, cell: (person) => <Through grants={person.through} place={place} /> },
        { key: "do", head: <span className="visually-hidden">Actions</span>, width: "max-content", align: "end", cell: (person) => <Actions person={person} place={place} myself={person.user.id === me.id} may={may(person)} ask={ask} /> },
      ]}
    />
  );
}

const nameOf = (person: Access) => person.user.display_name || person.user.email;

function Who({ person, place, myself, why }: { person: Access; place: Place; myself: boolean; why: string }) {
  return (
    <span className={styles["two"]}>
      <b>{nameOf(person)}{myself && <span className={styles["you"]}>(you)</span>}</b>
      {person.user.display_name && <span>{person.user.email}</span>}
      <span className={styles["onPhone"]}><RoleBadge role={person.role} /> {person.through[0] && where(person.through[0], place)}</span>
      {why && <span>{why}</span>}
    </span>
  );
}

export function RoleBadge({ role }: { role: string }) {
  return <Badge tone={role === "owner" || role === "admin" ? "run" : "still"} icon={role === "viewer" ? "search" : role === "editor" ? "edit" : "shield"}>{role}</Badge>;
}

/** "Given here", "Company Acme", "Here, by Okta". */
function where(grant: Grant, place: Place): string {
  const level = grant.level.charAt(0).toUpperCase() + grant.level.slice(1);
  const at = grant.id === place.id ? "Given here" : `${level} ${grant.name}`;
  return grant.provider === null ? at : `${at}, by ${grant.provider}`;
}

function Through({ grants, place }: { grants: Grant[]; place: Place }) {
  const [counts, ...others] = grants;
  return (
    <span className={styles["through"]}>
      {counts && <span>{where(counts, place)}</span>}
      {others.map((grant) => (
        <small key={`${grant.id}${grant.provider}${grant.role}`}>instead of {grant.role}: {where(grant, place)}</small>
      ))}
    </span>
  );
}

function Actions({ person, place, myself, may, ask }: { person: Access; place: Place; myself: boolean; may: Allowed; ask: (asked: Asked) => void }) {
  return (
    <span className={styles["buttons"]}>
      {may.change && <IconButton icon="edit" size="small" label={`Change the role of ${nameOf(person)}`} onClick={() => ask({ what: "change", person })} />}
      {may.remove && (
        <IconButton icon={myself ? "out" : "trash"} size="small" label={myself ? `Leave ${place.name}` : `Remove ${nameOf(person)}`} onClick={() => ask({ what: "remove", person })} />
      )}
    </span>
  );
}

function Remove({ person, place, me, onClose, onDone }: { person: Access | null; place: Place; me: string | undefined; onClose: () => void; onDone: (text: string, left?: boolean) => Promise<void> }) {
  const myself = person?.user.id === me;
  const name = person ? nameOf(person) : "";
  const above = person?.through.find((grant) => grant !== givenHere(person, place.id));
  return (
    <ConfirmDialog
      open={person !== null}
      onClose={onClose}
      title={myself ? `Leave ${place.name}?` : `Remove ${name}?`}
      action={myself ? "Leave" : "Remove member"}
      onConfirm={async () => {
        if (!person) return;
        await removeMember(place, person.user.id);
        await onDone(myself ? `You left ${place.name}` : `${name} was removed`, myself);
      }}
    >
      <div className="stack">
        <p>
          {myself ? "Your" : "Their"} role in the {place.word} {place.name} goes
          {place.kind === "company" ? ", and with it every role given further in: in organizations, projects and workflows." : ", and with it their roles on single workflows."}
        </p>
        {above && <p className="muted">What remains: {above.role}, {where(above, place)}.</p>}
      </div>
    </ConfirmDialog>
  );
}

function Explained({ place }: { place: Place }) {
  return (
    <p className="muted">
      The most specific role counts: a workflow's over its project's, a project's over its organization's, and that over the company's.
      {place.kind === "company" && " Members here have their role in everything inside, unless they have another one there."}
    </p>
  );
}
