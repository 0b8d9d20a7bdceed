/** How a workflow is doing: the last 24 hours, what ran last, what comes next. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import { Link } from "react-router";

import type { Schema } from "@/api/client";
import { Button, ButtonLink, EmptyState, ErrorState, Figures, Section, Skeleton, SkeletonLines, Time } from "@/components";
import { Graph } from "@/graph";
import { duration } from "@/lib/times";
import { LiveBadge, useFollow, workflowNews } from "@/live";
import { paths } from "@/paths";
import { checkQuery, dashboardQuery, statusQuery, useRunning } from "../data";
import { ExecutionTable } from "../ExecutionTable";
import { useWorkflow } from "../Workflow";
import { LinkList } from "../LinkList";
import { dayOf, runsAfter, scheduleWords, successRate } from "./day";
import styles from "./Overview.module.css";

const RunsChart = lazy(() => import("./RunsChart"));

export function Component() {
  const { id, workflow, may, trigger } = useWorkflow();
  const cache = useQueryClient();
  const news = useFollow(workflowNews(id), () => {
    for (const queryKey of [["workflow", id, "dashboard"], ["workflow", id, "status"]]) void cache.invalidateQueries({ queryKey });
    // Somebody may have deployed or stopped it.
    void cache.invalidateQueries({ queryKey: ["workflow", id], exact: true });
  });
  const dashboard = useQuery({ ...dashboardQuery(id), refetchInterval: news.again });
  if (dashboard.error && !dashboard.data) return <ErrorState error={dashboard.error} onRetry={() => void dashboard.refetch()} />;
  if (!dashboard.data) return <SkeletonLines lines={8} height="3rem" />;
  const { data } = dashboard;
  return (
    <div className={styles["overview"]}>
      {workflow.description && <p className={styles["about"]}>{workflow.description}</p>}
      <Numbers dashboard={data} />
      <div className={styles["columns"]}>
        <div className={styles["main"]}>
          <Section title="Runs in the last 24 hours">
            <div className={`card ${styles["chart"]}`}>
              <Suspense fallback={<Skeleton height="100%" />}><RunsChart hours={data.hours} /></Suspense>
            </div>
          </Section>
          <Section title="Recent executions" actions={<><LiveBadge state={news.state} onRetry={news.hurry} /> <Link to={paths.workflowRuns(id)}>All executions</Link></>}>
            <ExecutionTable compact label="Recent executions" executions={data.recent_executions} empty={
              <EmptyState icon="play" title="It has not run yet" actions={may("editor") && workflow.validation.valid ? <Button kind="primary" icon="play" onClick={trigger}>Trigger</Button> : <ButtonLink to={paths.workflowEdit(id)}>Open the editor</ButtonLink>}>
                {workflow.validation.valid ? "Start it once: you see every step as it happens." : "It is not valid yet. The editor says what is missing."}
              </EmptyState>
            } />
          </Section>
        </div>
        <div className={styles["aside"]}>
          <Schedule />
          <Section title="Graph" actions={<Link to={paths.workflowEdit(id)}>Open in the editor</Link>}><Picture /></Section>
          <Section title="Starts afterwards" actions={<Link to={paths.workflowLinks(id)}>All links</Link>}><LinkList id={id} /></Section>
        </div>
      </div>
    </div>
  );
}

function Numbers({ dashboard }: { dashboard: Schema<"WorkflowDashboard"> }) {
  const day = dayOf(dashboard.hours);
  const rate = successRate(day);
  const { p50, p95 } = dashboard.duration_ms;
  return (
    <Figures
      figures={[
        { name: "Runs, 24 h", value: day.total.toLocaleString("en"), note: day.failed ? `${day.failed} failed` : undefined },
        { name: "Success rate, 24 h", value: rate === null ? "–" : `${rate} %`, note: rate === null ? "nothing ended" : undefined },
        { name: "Typical duration (p50)", value: p50 === null ? "–" : duration(p50) },
        { name: "Slow ones (p95)", value: p95 === null ? "–" : duration(p95) },
        { name: "Running now", value: ((dashboard.execution_counts["running"] ?? 0) + (dashboard.execution_counts["pending"] ?? 0)).toLocaleString("en") },
      ]}
    />
  );
}

function Schedule() {
  const { id, workflow } = useWorkflow();
  const running = useRunning(workflow);
  const check = useQuery({ ...checkQuery(running.text ?? ""), enabled: running.text !== undefined });
  const status = useQuery({ ...statusQuery(id), refetchInterval: 30_000 });
  const schedule = check.data?.schedule;
  const active = workflow.status === "active";
  const next = active ? status.data?.next_run_at : null;
  const later = runsAfter(schedule?.next_runs ?? [], next);
  return (
    <Section title="Schedule">
      <div className={`card ${styles["schedule"]}`}>
        {check.isPending ? <SkeletonLines lines={2} height="1.25rem" /> : !schedule ? (
          <p className="muted">Runs when it is triggered. A <code>schedule</code> in its definition starts it by itself.</p>
        ) : (
          <>
            <p>{scheduleWords(schedule)}</p>
            {!active && <p className="muted">Not now: it is not deployed.</p>}
            {next && <p>Next: <b><Time at={next} /></b> <span className="muted">(<Time at={next} style="exact" />)</span></p>}
            {schedule.kind === "cron" && later.length > 0 && (
              <ol className={styles["next"]} aria-label={active ? "Next runs" : "Would run"}>
                {later.slice(0, 5).map((run) => <li key={run}><Time at={run} style="exact" /></li>)}
              </ol>
            )}
          </>
        )}
      </div>
    </Section>
  );
}

function Picture() {
  const { workflow } = useWorkflow();
  const check = useQuery(checkQuery(workflow.config_yaml));
  return (
    <div className={styles["picture"]}>
      {check.data?.graph ? <Graph graph={check.data.graph} label={`Graph of ${workflow.name}`} /> : check.isPending ? <Skeleton height="100%" /> : <div className="card"><p className="muted">There is no graph of a definition that is not valid.</p></div>}
    </div>
  );
}
