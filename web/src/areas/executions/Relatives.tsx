/** Where an execution comes from, and what it started. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";

import { api, type Schema } from "@/api/client";
import { workflowQuery } from "@/areas/workflows/data";
import { EmptyState, ErrorState, Pagination, Section, SkeletonLines, Status, Table, Time, usePage } from "@/components";
import { projectNews, useFollow } from "@/live";
import { paths } from "@/paths";
import { useShown } from "./context";
import { type Execution, executionQuery, lineageOf, shortId, statusOf } from "./data";
import { RunningTime } from "./RunningTime";

export function Component() {
  const { execution, live } = useShown();
  return (
    <div className="stack">
      <Section title="Where it comes from"><Origins execution={execution} /></Section>
      <Section title="What it started and waits for"><Children execution={execution} live={live} /></Section>
    </div>
  );
}

interface Origin {
  as: string;
  id: string;
}

function Origins({ execution }: { execution: Execution }) {
  const { parent, link, rerunOf, origin } = lineageOf(execution);
  const rows: Origin[] = [
    ...(parent ? [{ as: "Started it", id: parent }] : []),
    ...(link ? [{ as: "Started it by a link as it ended", id: link }] : []),
    ...(rerunOf ? [{ as: "Was run before with the same input", id: rerunOf }] : []),
    ...(origin ? [{ as: "Where it all began", id: origin }] : []),
  ];
  if (rows.length === 0) return <p className="muted">It stands on its own: neither another execution nor a link started it, and it is no repetition.</p>;
  return (
    <Table
      label="Where it comes from"
      rows={rows}
      rowKey={(row) => row.as}
      columns={[
        { key: "id", head: "Execution", width: "minmax(9rem, 2fr)", cell: (row) => <NameOf id={row.id} /> },
        { key: "as", head: "What it did", width: "minmax(9rem, 2fr)", cell: (row) => row.as },
        { key: "status", head: "Status", width: "minmax(7rem, 1fr)", cell: (row) => <StatusOf id={row.id} /> },
        { key: "at", head: "When", width: "minmax(8rem, 1fr)", wide: true, cell: (row) => <WhenOf id={row.id} /> },
      ]}
    />
  );
}

function NameOf({ id }: { id: string }) {
  const execution = useQuery(executionQuery(id));
  const workflow = useQuery({ ...workflowQuery(execution.data?.workflow_id ?? ""), enabled: execution.data !== undefined });
  return <Link to={paths.execution(id)}>{workflow.data?.workflow.name ?? "Execution"} <span className="muted mono">{shortId(id)}</span></Link>;
}

function StatusOf({ id }: { id: string }) {
  const execution = useQuery(executionQuery(id));
  if (execution.error) return <span className="muted">Gone, or not yours to see</span>;
  return execution.data ? <Status status={statusOf(execution.data)} /> : null;
}

function WhenOf({ id }: { id: string }) {
  const execution = useQuery(executionQuery(id));
  return <Time at={execution.data?.created_at} />;
}

type Child = Schema<"Child">;

const SIZE = 25;

/** They run in the same project, whose stream tells of them while more may begin. */
function Children({ execution: { id, workflow_id }, live }: { execution: Execution; live: boolean }) {
  const [page, setPage] = usePage();
  const project = useQuery(workflowQuery(workflow_id)).data?.workflow.project_id;
  const news = useFollow(live && project ? projectNews(project) : null, () => void children.refetch());
  const children = useQuery({
    queryKey: ["execution", id, "children", page, live],
    queryFn: () => api.get("/api/v1/executions/{id}/children", { params: { path: { id }, query: { page, page_size: SIZE } } }),
    refetchInterval: live ? news.again : false,
  });
  if (children.error) return <ErrorState error={children.error} onRetry={() => void children.refetch()} />;
  if (!children.data) return <SkeletonLines lines={2} />;
  return (
    <>
      <Table<Child>
        label="What it started"
        rows={children.data.items}
        rowKey={(row) => row.id}
        empty={<EmptyState icon="flow" title={live ? "Nothing so far" : "Nothing"}>Executions that a step starts with <code>run: workflow</code> are listed here, with a link to each.</EmptyState>}
        columns={[
          { key: "id", head: "Execution", width: "minmax(9rem, 2fr)", cell: (row) => <Link to={paths.execution(row.id)}>{row.workflow_name} <span className="muted mono">{shortId(row.id)}</span></Link> },
          { key: "status", head: "Status", width: "minmax(7rem, 1fr)", cell: (row) => <Status status={row.status} /> },
          { key: "took", head: "Took", width: "minmax(6rem, 1fr)", align: "end", cell: (row) => <RunningTime from={row.created_at} to={row.completed_at} /> },
          { key: "at", head: "When", width: "minmax(8rem, 1fr)", wide: true, cell: (row) => <Time at={row.created_at} /> },
        ]}
      />
      <Pagination page={page} pageSize={SIZE} total={children.data.total} shown={children.data.items.length} onPage={setPage} />
    </>
  );
}
