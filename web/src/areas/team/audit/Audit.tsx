/** Who did what, when and from where: filtered by what is in the address, read page by page, taken away as JSON Lines. */
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { useSearchParams } from "react-router";

import { api } from "@/api/client";
import { asProblem } from "@/api/problem";
import { Button, EmptyState, ErrorState, Field, Page, Pagination, Select, SkeletonLines, toastProblem, usePage } from "@/components";
import { paths } from "@/paths";
import { PAGE_SIZE, type Place, useMyRole, useNames } from "../access";
import { InCompany } from "../InPlace";
import { Needs } from "../Needs";
import { atLeast } from "../roles";
import { ACTIONS, inWords } from "./actions";
import styles from "./Audit.module.css";
import { EntryLine } from "./EntryLine";
import { boundsOf, PERIODS } from "./period";
import { save, size } from "./save";

export function Component() {
  return <InCompany title="Audit log">{(place) => <Guarded key={place.id} place={place} />}</InCompany>;
}

function Guarded({ place }: { place: Place }) {
  const own = useMyRole("company", place.id);
  if (own !== undefined && atLeast(own, "admin")) return <Audit place={place} />;
  return (
    <Page title="Audit log" crumbs={[{ to: paths.company(place.id), label: place.name }]}>
      {own === undefined ? <SkeletonLines lines={8} /> : <Needs role="admin" own={own} place={place} what="The audit log">It says who did what, when and from where.</Needs>}
    </Page>
  );
}

const FILTERS = ["action", "resource_type", "resource_id", "user_id"] as const;

function Audit({ place }: { place: Place }) {
  const [search, setSearch] = useSearchParams();
  const [page, setPage] = usePage();
  const names = useNames("company", place.id);
  const [asOf, setAsOf] = useState(Date.now);
  const bounds = useMemo(() => boundsOf(search, asOf), [search, asOf]);
  const given = Object.fromEntries(FILTERS.flatMap((name) => (search.get(name) ? [[name, search.get(name) ?? ""]] : [])));
  const filter = { ...given, ...bounds };
  const entries = useQuery({
    queryKey: ["company", place.id, "audit", filter, page, asOf],
    queryFn: () => api.get("/api/v1/companies/{id}/audit", { params: { path: { id: place.id }, query: { ...filter, page, page_size: PAGE_SIZE } } }),
    placeholderData: (before) => before,
  });
  const change = (changes: Record<string, string>) =>
    setSearch((was) => {
      const next = new URLSearchParams(was);
      for (const [name, value] of Object.entries(changes)) value ? next.set(name, value) : next.delete(name);
      next.delete("page");
      return next;
    });
  return (
    <Page title="Audit log" crumbs={[{ to: paths.company(place.id), label: place.name }]} about={`Who did what in ${place.name}, when and from where.`}
      actions={<><Button icon="refresh" onClick={() => setAsOf(Date.now())}>Refresh</Button><Export place={place} filter={filter} /></>}>
      <Filters search={search} names={names} change={change} clear={() => setSearch({})} />
      {entries.error ? <ErrorState error={entries.error} onRetry={() => void entries.refetch()} /> : !entries.data ? <SkeletonLines lines={10} /> : entries.data.items.length === 0 ? (
        <div className="card">
          <EmptyState icon="list" title="No entries" actions={search.size > 0 && <Button onClick={() => setSearch({})}>Clear filters</Button>}>
            Nothing that was noted fits these filters.
          </EmptyState>
        </div>
      ) : (
        <div className={styles["list"]}>
          {entries.data.items.map((entry) => <EntryLine key={entry.id} entry={entry} names={names} narrow={change} />)}
        </div>
      )}
      {entries.data && <Pagination page={page} pageSize={PAGE_SIZE} total={entries.data.total} shown={entries.data.items.length} onPage={setPage} />}
    </Page>
  );
}

interface FiltersProps {
  search: URLSearchParams;
  names: Map<string, string>;
  change: (changes: Record<string, string>) => void;
  clear: () => void;
}

function Filters({ search, names, change, clear }: FiltersProps) {
  const value = (name: string) => search.get(name) ?? "";
  const [user, type] = [value("user_id"), value("resource_type")];
  const verbs = type in ACTIONS ? { [type]: ACTIONS[type] ?? [] } : ACTIONS;
  return (
    <search className={styles["filters"]} aria-label="Filters">
      <Select label="Person" value={user} onChange={(event) => change({ user_id: event.target.value })}>
        <option value="">Everybody</option>
        {[...names].map(([id, name]) => <option key={id} value={id}>{name}</option>)}
        {user && !names.has(user) && <option value={user}>{user}</option>}
      </Select>
      <Select label="What" value={type} onChange={(event) => change({ resource_type: event.target.value, action: "" })}>
        <option value="">Everything</option>
        {Object.keys(ACTIONS).filter((one) => one !== "auth").map((one) => <option key={one} value={one}>{one.replaceAll("_", " ")}</option>)}
        <option value="session">session</option>
      </Select>
      <Select label="Action" value={value("action")} onChange={(event) => change({ action: event.target.value })}>
        <option value="">All actions</option>
        {Object.entries(verbs).flatMap(([thing, all]) => all.map((verb) => `${thing}.${verb}`)).map((one) => <option key={one} value={one}>{inWords(one)}</option>)}
        {value("action") && !inKnown(value("action")) && <option value={value("action")}>{value("action")}</option>}
      </Select>
      <Select label="When" value={value("period")} onChange={(event) => change({ period: event.target.value, from: "", to: "" })}>
        <option value="">Any time</option>
        {Object.entries(PERIODS).map(([key, { label }]) => <option key={key} value={key}>{label}</option>)}
        <option value="custom">From … to …</option>
      </Select>
      {value("period") === "custom" && (
        <>
          <Field label="From" type="datetime-local" value={value("from")} onChange={(event) => change({ from: event.target.value })} />
          <Field label="Until" type="datetime-local" value={value("to")} onChange={(event) => change({ to: event.target.value })} />
        </>
      )}
      {value("resource_id") && <Field label="Only the resource" readOnly value={value("resource_id")} />}
      {search.size > 0 && <div style={{ alignSelf: "end" }}><Button kind="quiet" icon="cross" onClick={clear}>Clear filters</Button></div>}
    </search>
  );
}

function inKnown(action: string): boolean {
  const [thing = "", verb = ""] = action.split(".");
  return ACTIONS[thing]?.includes(verb) ?? false;
}

function Export({ place, filter }: { place: Place; filter: Record<string, string> }) {
  const [bytes, setBytes] = useState<number | null>(null);
  const [stop, setStop] = useState<AbortController | null>(null);
  const run = async () => {
    const controller = new AbortController();
    setStop(controller);
    setBytes(0);
    const query = new URLSearchParams(filter).toString();
    const day = new Date().toISOString().slice(0, 10);
    try {
      await save(`/api/v1/companies/${encodeURIComponent(place.id)}/audit/export${query && `?${query}`}`, `audit-${day}.jsonl`, setBytes, controller.signal);
    } catch (error) {
      if (!controller.signal.aborted) toastProblem(asProblem(error));
    } finally {
      setBytes(null);
    }
  };
  if (bytes !== null) return <Button icon="cross" onClick={() => stop?.abort()}>Exporting, {size(bytes)}: stop</Button>;
  return <Button icon="download" title="What the filters leave, as JSON Lines, oldest first" onClick={() => void run()}>Export</Button>;
}
