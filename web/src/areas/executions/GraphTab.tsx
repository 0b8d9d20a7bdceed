/** The version that runs, as a graph: each task lit by its last run. */
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { checkQuery, versionQuery } from "@/areas/workflows/data";
import { ButtonLink, EmptyState, ErrorState, Skeleton } from "@/components";
import { Graph } from "@/graph";
import { paths } from "@/paths";
import { useShown } from "./context";
import styles from "./Executions.module.css";
import { nodeStates } from "./steps";
import { useChosenStep } from "./useChosenStep";

export function Component() {
  const { execution, all, steps } = useShown();
  const version = useQuery(versionQuery(execution.workflow_id, execution.version));
  const text = version.data?.config_yaml;
  const checked = useQuery({ ...checkQuery(text ?? ""), enabled: text !== undefined });
  const states = useMemo(() => nodeStates(all), [all]);
  const { chosen, wanted, choose } = useChosenStep(steps.steps);
  const error = version.error ?? checked.error ?? (steps.steps.length ? null : steps.error);
  if (error) return <ErrorState error={error} onRetry={() => void (version.error ? version.refetch() : checked.error ? checked.refetch() : steps.retry())} />;
  if (!checked.data || steps.pending) return <div className={`box ${styles["graph"]}`}><Skeleton height="100%" /></div>;
  if (!checked.data.graph) {
    return (
      <div className="card">
        <EmptyState icon="flow" title="There is no graph of this version" actions={<ButtonLink to={paths.executionTab(execution.id, "timeline")}>Open the timeline</ButtonLink>}>
          Its definition has no tasks, or is not valid any more.
        </EmptyState>
      </div>
    );
  }
  return (
    <div className={`box ${styles["graph"]}`}>
      <Graph graph={checked.data.graph} label="Graph of this execution" states={states} selected={chosen?.reference ?? (wanted?.startsWith("/") ? wanted : null)} onSelect={choose} />
    </div>
  );
}
