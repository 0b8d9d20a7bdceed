/** The executions of a workflow, as they come. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useSearchParams } from "react-router";

import { api } from "@/api/client";
import { Button, EmptyState, ErrorState, Pagination, Select, SkeletonLines, usePage } from "@/components";
import { useFilter } from "@/lib/useFilter";
import { LiveBadge, useFollow, workflowNews } from "@/live";
import { ExecutionTable } from "./ExecutionTable";
import { sinceOf, SPANS } from "./spans";
import { useWorkflow } from "./Workflow";
import styles from "./Workflows.module.css";

const PAGE = 50;
const STATUSES = ["pending", "running", "completed", "failed", "cancelled"] as const;

export function Component() {
  const { id, may, trigger, workflow } = useWorkflow();
  const [page, goTo] = usePage();
  const [search, setSearch] = useSearchParams();
  const status = STATUSES.find((one) => one === search.get("status"));
  const span = search.get("span") ?? "";
  const news = useFollow(workflowNews(id), () => void list.refetch());
  const list = useQuery({
    queryKey: ["workflow", id, "executions", page, status, span],
    queryFn: ({ signal }) => {
      const since = sinceOf(span);
      return api.get("/api/v1/workflows/{id}/executions", { params: { path: { id }, query: { page, page_size: PAGE, include: "triggered_by", ...(status ? { status } : {}), ...(since ? { since } : {}) } }, signal });
    },
    placeholderData: keepPreviousData,
    refetchInterval: news.again,
  });
  const filter = useFilter();
  if (list.error && !list.data) return <ErrorState error={list.error} onRetry={() => void list.refetch()} />;
  const filtered = status !== undefined || span !== "";
  return (
    <div className="stack">
      <div className={styles["filters"]} role="search" aria-label="Executions">
        <Select label="Status" hideLabel value={status ?? ""} onChange={(event) => filter("status", event.target.value)}>
          <option value="">Any status</option>
          {STATUSES.map((one) => <option key={one} value={one}>{one[0]?.toUpperCase()}{one.slice(1)}</option>)}
        </Select>
        <Select label="Time" hideLabel value={span} onChange={(event) => filter("span", event.target.value)}>
          <option value="">Any time</option>
          {Object.entries(SPANS).map(([key, one]) => <option key={key} value={key}>{one.label}</option>)}
        </Select>
        {list.data && <span className="muted">{list.data.total.toLocaleString("en")} {list.data.total === 1 ? "execution" : "executions"}</span>}
        <LiveBadge state={news.state} onRetry={news.hurry} />
      </div>
      {list.data ? (
        <ExecutionTable label="Executions" executions={list.data.items} empty={
          filtered ? (
            <EmptyState icon="search" title="Nothing fits" actions={<Button onClick={() => setSearch({})}>Show all</Button>}>No execution has this status in this time.</EmptyState>
          ) : (
            <EmptyState icon="play" title="It has not run yet" actions={may("editor") && workflow.validation.valid ? <Button kind="primary" icon="play" onClick={trigger}>Trigger</Button> : undefined}>
              Each run is an execution: with its input and output, every step, its logs and events.
            </EmptyState>
          )
        } />
      ) : <SkeletonLines lines={10} />}
      {list.data && <Pagination page={page} pageSize={PAGE} total={list.data.total} shown={list.data.items.length} onPage={goTo} />}
    </div>
  );
}
