/** One execution: what it is doing or has done, first; then its graph, timeline, logs, events, data and relatives. */
import { useQuery } from "@tanstack/react-query";
import { useRef } from "react";
import { Link, Outlet, useParams } from "react-router";

import { accessQuery, atLeast, workflowQuery } from "@/areas/workflows/data";
import { Badge, ErrorState, LinkTabs, Page, Skeleton, SkeletonLines, Status, Time, Who } from "@/components";
import { useInProject } from "@/frame/scope";
import { LiveBadge, type ConnectionState } from "@/live";
import { paths } from "@/paths";
import { Actions } from "./Actions";
import type { Shown } from "./context";
import { type Execution, hasEnded, lineageOf, shortId, statusOf, triggerWords } from "./data";
import styles from "./Executions.module.css";
import { RunningTime } from "./RunningTime";
import { StepPanel } from "./StepPanel";
import { summary } from "./steps";
import { Trouble } from "./Trouble";
import { useExecution } from "./useExecution";
import { useChosenStep } from "./useChosenStep";

export function Component() {
  const { executionId = "" } = useParams();
  return <One key={executionId} id={executionId} />;
}

function One({ id }: { id: string }) {
  const { execution, steps, all, live, hearing } = useExecution(id);
  const workflowId = execution.data?.workflow_id ?? "";
  const workflow = useQuery({ ...workflowQuery(workflowId), enabled: workflowId !== "" });
  const access = useQuery({ ...accessQuery(workflowId), enabled: workflowId !== "" });
  const project = useInProject(workflow.data?.workflow.project_id);
  const { chosen, choose } = useChosenStep(steps.steps);
  const content = useRef<HTMLDivElement>(null);
  const close = () => {
    choose(null);
    // To the graph or the list that it was chosen in: a focus that goes with the panel is at the top of the page again.
    content.current?.querySelector<HTMLElement>('[tabindex="0"]')?.focus({ preventScroll: true });
  };
  const name = workflow.data?.workflow.name;
  if (execution.error && !execution.data) return <Page title="Execution"><ErrorState error={execution.error} onRetry={() => void execution.refetch()} /></Page>;
  if (!execution.data) return <Page title="Execution" heading={<Skeleton width="16rem" height="1.8rem" />}><SkeletonLines lines={6} height="3rem" /></Page>;
  const mayRun = atLeast(access.data?.role, "editor");
  const shown: Shown = { execution: execution.data, steps, all, live, connection: hearing.state, mayRun };
  return (
    <Page
      full
      title={`${name ?? "Execution"} ${shortId(id)}`}
      heading={<>{name ?? <Skeleton width="10rem" />} <span className={styles["id"]}>{shortId(id)}</span></>}
      crumbs={[
        ...(project.data ? [{ to: paths.project(project.data.id), label: project.data.name }] : []),
        ...(name ? [{ to: paths.workflow(workflowId), label: name }, { to: paths.workflowRuns(workflowId), label: "Executions" }] : []),
      ]}
      actions={<Actions execution={execution.data} mayRun={mayRun} />}
    >
      <Facts execution={execution.data} connection={hearing.state} live={live} onRetry={hearing.hurry} steps={all.length ? { ...summary(steps.steps), total: steps.total } : null} />
      <Trouble execution={execution.data} />
      <LinkTabs
        label="Parts of this execution"
        tabs={[
          { to: paths.execution(id), label: "Graph", end: true },
          { to: paths.executionTab(id, "timeline"), label: "Timeline" },
          { to: paths.executionTab(id, "logs"), label: "Logs" },
          { to: paths.executionTab(id, "events"), label: "Events" },
          { to: paths.executionTab(id, "data"), label: "Input and output" },
          { to: paths.executionTab(id, "relatives"), label: "Relatives" },
        ]}
      />
      <div className={chosen ? styles["beside"] : ""}>
        <div ref={content} className={styles["content"]}><Outlet context={shown} /></div>
        {chosen && <StepPanel key={chosen.reference} step={chosen} execution={execution.data} steps={steps.steps} mayRun={mayRun} onChoose={choose} onClose={close} />}
      </div>
    </Page>
  );
}

interface FactsProps {
  execution: Execution;
  connection: ConnectionState;
  live: boolean;
  onRetry: () => void;
  steps: { total: number; failed: number; retried: number } | null;
}

function Facts({ execution, connection, live, onRetry, steps }: FactsProps) {
  const lineage = lineageOf(execution);
  const source = lineage.rerunOf ?? lineage.parent ?? lineage.link;
  return (
    <div className={styles["facts"]}>
      <Status status={statusOf(execution)} />
      <span><span className="muted">{live ? "Running for" : "Took"}</span> <b><RunningTime from={execution.started_at} to={execution.completed_at} /></b></span>
      <span>
        <span className="muted">{execution.started_at ? "Started" : "Created"}</span> <Time at={execution.started_at ?? execution.created_at} />{" "}
        <span className="muted">{triggerWords(execution)}</span> {source && <Link to={paths.execution(source)}>{shortId(source)}</Link>}
        {execution.triggered_by && <> <span className="muted">by</span> <Who person={execution.triggered_by} /></>}
      </span>
      <span><span className="muted">Version</span> <Link to={paths.workflowVersion(execution.workflow_id, execution.version)}>{execution.version}</Link></span>
      {steps && <span>{steps.total.toLocaleString("en")} <span className="muted">{steps.total === 1 ? "step" : "steps"}</span></span>}
      {steps && steps.retried > 0 && <Badge tone="warn" icon="refresh">{steps.retried.toLocaleString("en")} {steps.retried === 1 ? "retry" : "retries"}</Badge>}
      {live && !hasEnded(execution.status) && <LiveBadge state={connection} onRetry={onRetry} />}
    </div>
  );
}
