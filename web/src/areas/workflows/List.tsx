/** The workflows of a project: how each is doing, at a glance. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { Link, useParams, useSearchParams } from "react-router";

import { api } from "@/api/client";
import { Button, ButtonLink, EmptyState, ErrorState, Field, Page, Pagination, Select, SkeletonLines, Status, Table, Time, usePage } from "@/components";
import { useInProject } from "@/frame/scope";
import { useFilter } from "@/lib/useFilter";
import { LiveBadge, projectNews, useFollow } from "@/live";
import { paths } from "@/paths";
import { atLeast, type Workflow } from "./data";
import { RunBars } from "./RunBars";
import styles from "./Workflows.module.css";

const PAGE = 25;
const STATUSES = ["draft", "active", "stopped", "error"] as const;
type WorkflowStatus = (typeof STATUSES)[number];

export function Component() {
  const { projectId = "" } = useParams();
  const project = useInProject(projectId);
  const access = useQuery({ queryKey: ["project", projectId, "access", "me"], queryFn: () => api.get("/api/v1/projects/{id}/access/me", { params: { path: { id: projectId } } }), staleTime: 60_000 });
  const [page, goTo] = usePage();
  const [search, setSearch] = useSearchParams();
  const q = search.get("q") ?? "";
  const status = STATUSES.find((one) => one === search.get("status"));
  const news = useFollow(projectNews(projectId), () => void list.refetch());
  const list = useQuery({
    queryKey: ["workflows", "project", projectId, page, q, status],
    queryFn: ({ signal }) => api.get("/api/v1/projects/{pid}/workflows", { params: { path: { pid: projectId }, query: { page, page_size: PAGE, include: "runs", ...(q ? { q } : {}), ...(status ? { status } : {}) } }, signal }),
    placeholderData: keepPreviousData,
    refetchInterval: news.again,
  });
  const filter = useFilter();
  const create = atLeast(access.data?.role, "editor") ? <ButtonLink kind="primary" icon="plus" to={paths.projectNew(projectId)}>New workflow</ButtonLink> : undefined;
  if (project.error) return <Page title="Project"><ErrorState error={project.error} onRetry={() => void project.refetch()} /></Page>;
  const filtered = q !== "" || status !== undefined;
  const none = list.data?.total === 0 && !filtered;
  return (
    <Page title={project.data?.name ?? "Project"} about={project.data?.description || undefined} actions={none ? undefined : create}>
      {list.error && !list.data ? (
        <ErrorState error={list.error} onRetry={() => void list.refetch()} />
      ) : none ? (
        <div className="card">
          <EmptyState icon="flow" title="No workflows yet" actions={create}>
            A workflow says in YAML what is done, in which order, and what happens when something fails. Start from a template: it runs within a minute.
          </EmptyState>
        </div>
      ) : (
        <>
          <Filters q={q} status={status} onFilter={filter}><LiveBadge state={news.state} onRetry={news.hurry} /></Filters>
          {list.data ? <Rows workflows={list.data.items} onClear={() => setSearch({})} /> : <SkeletonLines lines={8} />}
          {list.data && <Pagination page={page} pageSize={PAGE} total={list.data.total} shown={list.data.items.length} onPage={goTo} />}
        </>
      )}
    </Page>
  );
}

function Filters({ q, status, onFilter, children }: { q: string; status: WorkflowStatus | undefined; onFilter: (name: string, value: string) => void; children: ReactNode }) {
  const [typed, setTyped] = useState(q);
  const sent = useRef(q);
  useEffect(() => {
    if (typed === q) return;
    const timer = setTimeout(() => {
      sent.current = typed;
      onFilter("q", typed);
    }, 250);
    return () => clearTimeout(timer);
    // Only what is typed counts: the address follows it.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [typed]);
  // Unless it changed by itself: "Show all", or another link.
  useEffect(() => {
    if (q === sent.current) return;
    sent.current = q;
    setTyped(q);
  }, [q]);
  return (
    <div className={styles["filters"]} role="search" aria-label="Workflows of this project">
      <Field label="Find" hideLabel type="search" placeholder="Find by name or description" maxLength={200} value={typed} onChange={(event) => setTyped(event.target.value)} />
      <Select label="Status" hideLabel value={status ?? ""} onChange={(event) => onFilter("status", event.target.value)}>
        <option value="">Any status</option>
        {STATUSES.map((one) => <option key={one} value={one}>{one[0]?.toUpperCase()}{one.slice(1)}</option>)}
      </Select>
      {children}
    </div>
  );
}

function Rows({ workflows, onClear }: { workflows: Workflow[]; onClear: () => void }) {
  return (
    <Table
      label="Workflows"
      rows={workflows}
      rowKey={(row) => row.id}
      empty={<EmptyState icon="search" title="Nothing fits" actions={<Button onClick={onClear}>Show all</Button>}>No workflow of this project has these words and this status.</EmptyState>}
      columns={[
        {
          key: "name", head: "Workflow", width: "minmax(9rem, 3fr)",
          cell: (row) => <Link to={paths.workflow(row.id)} title={row.description || row.name}>{row.name}</Link>,
        },
        { key: "status", head: "Status", width: "minmax(6.5rem, 1fr)", cell: (row) => <Status status={row.status} /> },
        { key: "runs", head: "Last runs", width: "minmax(7rem, 1fr)", wide: true, cell: (row) => <RunBars runs={row.runs?.last ?? []} /> },
        { key: "next", head: "Next run", width: "minmax(7rem, 1fr)", wide: true, cell: (row) => <Time at={row.status === "active" ? row.runs?.next_run_at : null} /> },
        { key: "updated", head: "Changed", width: "minmax(7rem, 1fr)", wide: true, cell: (row) => <Time at={row.updated_at} /> },
      ]}
    />
  );
}
