/** Executions of a project, or of all workflows that one may see: as they come, narrowed to what one looks for. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useParams, useSearchParams } from "react-router";

import { api } from "@/api/client";
import { myProjectsQuery } from "@/api/places";
import { ExecutionTable, TRIGGERS } from "@/areas/workflows/ExecutionTable";
import { sinceOf, SPANS } from "@/areas/workflows/spans";
import { Button, EmptyState, ErrorState, Page, Pagination, Select, SkeletonLines, usePage } from "@/components";
import { useInProject } from "@/frame/scope";
import { useFilter } from "@/lib/useFilter";
import { allNews, LiveBadge, projectNews, useFollow } from "@/live";
import { paths } from "@/paths";
import { found, STATUSES } from "./found";
import styles from "./Executions.module.css";

const PAGE = 50;
const MOST_NAMED = 100;
const KINDS = ["manual", "schedule", "event", "link", "subflow"] as const;

export function Component() {
  const { projectId } = useParams();
  return projectId ? <OfProject key={projectId} id={projectId} /> : <OfAll />;
}

function OfProject({ id }: { id: string }) {
  const project = useInProject(id);
  if (project.error) return <Page title="Executions"><ErrorState error={project.error} onRetry={() => void project.refetch()} /></Page>;
  const crumbs = project.data ? [{ to: paths.project(id), label: project.data.name }] : [];
  return <Page title="Executions" crumbs={crumbs} about="Every run of the workflows of this project."><Executions project={id} /></Page>;
}

function OfAll() {
  return <Page title="All executions" about="Every run that you may see, in all companies."><Executions /></Page>;
}

function Executions({ project }: { project?: string }) {
  const [page, goTo] = usePage();
  const [search, setSearch] = useSearchParams();
  const status = STATUSES.find((one) => one === search.get("status"));
  const trigger_type = KINDS.find((one) => one === search.get("trigger"));
  const span = search.get("span") ?? "";
  const workflow_id = search.get("workflow") ?? undefined;
  const project_id = project ?? search.get("project") ?? undefined;
  const news = useFollow(project ? projectNews(project) : allNews(), () => void list.refetch());
  const list = useQuery({
    queryKey: ["executions", page, project_id, workflow_id, status, trigger_type, span],
    queryFn: ({ signal }) => {
      const given = Object.entries({ project_id, workflow_id, status, trigger_type, since: sinceOf(span) }).filter(([, value]) => value);
      return api.get("/api/v1/executions", { params: { query: { page, page_size: PAGE, ...Object.fromEntries(given) } }, signal });
    },
    placeholderData: keepPreviousData,
    refetchInterval: news.again,
  });
  const filtered = [...search.keys()].some((name) => name !== "page");
  if (list.error && !list.data) return <ErrorState error={list.error} onRetry={() => void list.refetch()} />;
  return (
    <div className="stack">
      <div className={styles["filters"]} role="search" aria-label="Executions">
        <Filters status={status} trigger={trigger_type} span={span} />
        {!project && <Projects chosen={project_id} />}
        <Workflows project={project_id} chosen={workflow_id} />
        <span className={styles["number"]}>
          {list.data && <span className="muted">{found(list.data.total, page * PAGE)}</span>}
          <LiveBadge state={news.state} onRetry={news.hurry} />
        </span>
      </div>
      {list.data ? (
        <ExecutionTable label="Executions" executions={list.data.items} empty={
          filtered ? (
            <EmptyState icon="search" title="Nothing fits" actions={<Button onClick={() => setSearch({})}>Show all</Button>}>No execution that you may see is like this.</EmptyState>
          ) : (
            <EmptyState icon="play" title="Nothing has run yet">Each run of a workflow is an execution: with its input and output, every step, its logs and events. They are listed here as they come.</EmptyState>
          )
        } />
      ) : <SkeletonLines lines={10} />}
      {list.data && <Pagination page={page} pageSize={PAGE} total={list.data.total} shown={list.data.items.length} onPage={goTo} />}
    </div>
  );
}

function Filters({ status, trigger, span }: { status: string | undefined; trigger: string | undefined; span: string }) {
  const filter = useFilter();
  return (
    <>
      <Select label="Status" hideLabel value={status ?? ""} onChange={(event) => filter("status", event.target.value)}>
        <option value="">Any status</option>
        {STATUSES.map((one) => <option key={one} value={one}>{one[0]?.toUpperCase()}{one.slice(1)}</option>)}
      </Select>
      <Select label="Trigger" hideLabel value={trigger ?? ""} onChange={(event) => filter("trigger", event.target.value)}>
        <option value="">Any trigger</option>
        {KINDS.map((one) => <option key={one} value={one}>{TRIGGERS[one]}</option>)}
      </Select>
      <Select label="Time" hideLabel value={span} onChange={(event) => filter("span", event.target.value)}>
        <option value="">Any time</option>
        {Object.entries(SPANS).map(([key, one]) => <option key={key} value={key}>{one.label}</option>)}
      </Select>
    </>
  );
}

function Projects({ chosen }: { chosen: string | undefined }) {
  const filter = useFilter();
  const projects = useQuery(myProjectsQuery);
  return (
    <Select label="Project" hideLabel value={chosen ?? ""} onChange={(event) => filter("project", event.target.value)}>
      <option value="">Any project</option>
      {projects.data?.items.map((one) => <option key={one.id} value={one.id}>{one.name}</option>)}
      {chosen && !projects.data?.items.some((one) => one.id === chosen) && <option value={chosen}>{projects.data ? "One project" : "…"}</option>}
    </Select>
  );
}

/** The newest hundred by name; one that is chosen by its address is there in any case. */
function Workflows({ project, chosen }: { project: string | undefined; chosen: string | undefined }) {
  const filter = useFilter();
  const workflows = useQuery({
    queryKey: ["workflows", "names", project],
    queryFn: async () => {
      const query = { page_size: MOST_NAMED };
      const { items, total } = await (project ? api.get("/api/v1/projects/{pid}/workflows", { params: { path: { pid: project }, query } }) : api.get("/api/v1/workflows", { params: { query } }));
      return { total, items: items.map(({ id, name }) => ({ id, name })).sort((a, b) => a.name.localeCompare(b.name)) };
    },
    staleTime: 30_000,
  });
  const more = (workflows.data?.total ?? 0) - (workflows.data?.items.length ?? 0);
  return (
    <Select label="Workflow" hideLabel value={chosen ?? ""} onChange={(event) => filter("workflow", event.target.value)}>
      <option value="">Any workflow</option>
      {workflows.data?.items.map((one) => <option key={one.id} value={one.id}>{one.name}</option>)}
      {chosen && !workflows.data?.items.some((one) => one.id === chosen) && <option value={chosen}>{workflows.data ? "One workflow" : "…"}</option>}
      {more > 0 && <option disabled>… and {more.toLocaleString("en")} older ones, each with a list of its own</option>}
    </Select>
  );
}
