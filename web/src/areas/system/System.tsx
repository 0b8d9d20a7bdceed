/** All workflows that one may see, in numbers: what runs, what fails, where to look first. */
import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";

import { api, type Schema } from "@/api/client";
import { ButtonLink, EmptyState, ErrorState, Figures, Page, Pagination, Skeleton, SkeletonLines, type Sort, Status, Table, usePage } from "@/components";
import { allNews, LiveBadge, useFollow } from "@/live";
import { paths } from "@/paths";
import { Share } from "./Share";
import { sorted, STATUSES, successRate, summed, totals } from "./totals";

type Summary = Schema<"Summary">;

const SIZE = 50;

const dashboardQuery = (page: number) => ({
  queryKey: ["dashboard", page],
  queryFn: () => api.get("/api/v1/dashboard", { params: { query: { page, page_size: SIZE } } }),
  placeholderData: keepPreviousData,
});

export function Component() {
  const [page, setPage] = usePage();
  const cache = useQueryClient();
  const news = useFollow(allNews(), () => void cache.invalidateQueries({ queryKey: ["dashboard"] }));
  const dashboard = useQuery({ ...dashboardQuery(page), refetchInterval: news.again });
  return (
    <Page title="All workflows" about="Every workflow that you may see, in all companies." actions={<><LiveBadge state={news.state} onRetry={news.hurry} /> <ButtonLink to={paths.executions()} icon="play">All executions</ButtonLink></>}>
      {dashboard.error && !dashboard.data ? <ErrorState error={dashboard.error} onRetry={() => void dashboard.refetch()} />
        : !dashboard.data ? <SkeletonLines lines={8} />
        : dashboard.data.total_workflows === 0 ? (
          <div className="card">
            <EmptyState icon="flow" title="No workflows yet" actions={<ButtonLink kind="primary" to={paths.welcome()}>Start one</ButtonLink>}>
              When there are some, this page says what runs, what fails and how often.
            </EmptyState>
          </div>
        ) : (
          <>
            <Totals summaries={dashboard.data.workflow_summaries} workflows={dashboard.data.total_workflows} />
            <Workflows summaries={dashboard.data.workflow_summaries} />
            <Pagination page={page} pageSize={SIZE} total={dashboard.data.total_workflows} shown={dashboard.data.workflow_summaries.length} onPage={setPage} />
          </>
        )}
    </Page>
  );
}

const number = (value: number) => value.toLocaleString("en");

/** Over all workflows, also those of other pages: what the pages of lists say of how many there are. */
const everywhereQuery = {
  queryKey: ["dashboard", "everywhere"],
  queryFn: async ({ signal }: { signal: AbortSignal }) => {
    const ended = STATUSES.map(async (status) => [status, (await api.get("/api/v1/executions", { params: { query: { status, page_size: 1 } }, signal })).total] as const);
    const active = await api.get("/api/v1/workflows", { params: { query: { status: "active", page_size: 1 } }, signal });
    return summed(active.total, Object.fromEntries(await Promise.all(ended)));
  },
  placeholderData: keepPreviousData,
};

function Totals({ summaries, workflows }: { summaries: Summary[]; workflows: number }) {
  const others = workflows > summaries.length;
  const everywhere = useQuery({ ...everywhereQuery, enabled: others });
  if (others && !everywhere.data) return everywhere.error ? <ErrorState error={everywhere.error} onRetry={() => void everywhere.refetch()} /> : <Skeleton height="6rem" />;
  const sum = everywhere.data ?? totals(summaries);
  return (
    <Figures
      figures={[
        { name: "Workflows", value: number(workflows), note: `${number(sum.active)} active` },
        { name: "Running now", value: number(sum.running), note: sum.pending ? `${number(sum.pending)} waiting to start` : "none waiting" },
        { name: "Completed", value: number(sum.completed), note: sum.rate === null ? "nothing has ended yet" : `${sum.rate}% of those that ended` },
        { name: "Failed", value: number(sum.failed), note: sum.cancelled ? `${number(sum.cancelled)} cancelled` : "none cancelled", bad: sum.failed > 0 },
      ]}
    />
  );
}

function Workflows({ summaries }: { summaries: Summary[] }) {
  const [sort, setSort] = useState<Sort | undefined>();
  const rows = sort ? sorted(summaries, sort.key, sort.descending) : summaries;
  return (
    <Table
      label="All workflows"
      rows={rows}
      rowKey={(row) => row.workflow_id}
      {...(sort ? { sort } : {})}
      onSort={setSort}
      columns={[
        { key: "name", head: "Workflow", width: "minmax(6.5rem, 3fr)", sortable: true, cell: (row) => <Link to={paths.workflow(row.workflow_id)}>{row.workflow_name}</Link> },
        { key: "status", head: "Status", width: "minmax(6.5rem, 1fr)", sortable: true, cell: (row) => <Status status={row.status} /> },
        { key: "share", head: "How runs ended", width: "minmax(8rem, 2fr)", wide: true, cell: (row) => <Share executions={row.executions} /> },
        { key: "rate", head: "Success", width: "minmax(6.5rem, 1fr)", align: "end", sortable: true, wide: true, cell: (row) => rateWords(row) },
        { key: "running", head: "Running", width: "minmax(6.5rem, 1fr)", align: "end", sortable: true, wide: true, cell: (row) => number(row.executions["running"] ?? 0) },
        { key: "failed", head: "Failed", width: "minmax(5rem, 1fr)", align: "end", sortable: true, cell: (row) => <Failed row={row} /> },
        { key: "errors", head: "Errors", width: "minmax(6rem, 1fr)", align: "end", sortable: true, wide: true, cell: (row) => <Errors row={row} /> },
      ]}
    />
  );
}

function rateWords(row: Summary): string {
  const rate = successRate(row.executions);
  return rate === null ? "–" : `${rate}%`;
}

function Failed({ row }: { row: Summary }) {
  const failed = row.executions["failed"] ?? 0;
  return failed ? <Link to={`${paths.workflowRuns(row.workflow_id)}?status=failed`}>{number(failed)}</Link> : <>0</>;
}

function Errors({ row }: { row: Summary }) {
  const errors = (row.log_counts["error"] ?? 0) + (row.log_counts["fatal"] ?? 0);
  return errors ? <Link to={`${paths.workflowLogs(row.workflow_id)}?level=error`}>{number(errors)}</Link> : <>0</>;
}
