import type { ReactNode } from "react";
import { Link } from "react-router";

import type { Schema } from "@/api/client";
import { type Column, Duration, Status, Table, Time, Who } from "@/components";
import { paths } from "@/paths";
import type { Execution } from "./data";
import styles from "./Workflows.module.css";

/** What starts executions, in a word or two. */
export const TRIGGERS: Record<string, string> = { manual: "By hand", schedule: "Schedule", event: "Event", link: "Link", subflow: "Workflow" };

type Row = Execution & { workflow?: Schema<"OfWorkflow"> };

const OF: Column<Row> = { key: "workflow", head: "Workflow", width: "minmax(8rem, 2fr)", cell: (row) => row.workflow && <Link to={paths.workflow(row.workflow.id)} title={`${row.workflow.name} in ${row.workflow.project_name}`}>{row.workflow.name}</Link> };
const BY: Column<Row>[] = [
  { key: "trigger", head: "By", width: "minmax(6rem, 1fr)", wide: true, cell: (row) => row.triggered_by ? <Who person={row.triggered_by} /> : (TRIGGERS[row.trigger_type] ?? row.trigger_type) },
  { key: "version", head: "Version", width: "minmax(5rem, 0.5fr)", align: "end", wide: true, cell: (row) => row.version },
];

/** Executions, the newest first; those of many workflows with the name of each. */
export function ExecutionTable({ label, executions, empty, compact }: { label: string; executions: Row[]; empty: ReactNode; compact?: boolean }) {
  const several = executions.some((row) => row.workflow);
  return (
    <Table
      label={label}
      rows={executions}
      rowKey={(row) => row.id}
      empty={empty}
      columns={[
        { key: "started", head: "Started", width: "minmax(8.2rem, 1.2fr)", cell: (row) => <Link to={paths.execution(row.id)}><Time at={row.started_at ?? row.created_at} /></Link> },
        ...(several ? [OF] : []),
        { key: "status", head: "Status", width: "minmax(8.4rem, 1fr)", cell: (row) => <Status status={row.status} /> },
        { key: "error", head: "What happened", width: several ? "minmax(6rem, 2fr)" : "minmax(6rem, 3fr)", wide: true, cell: (row) => <span className={styles["error"]} title={row.error_message ?? undefined}>{row.error_message ?? ""}</span> },
        ...(compact ? [] : several ? BY.slice(0, 1) : BY),
        { key: "duration", head: "Took", width: "minmax(4.6rem, 0.8fr)", align: "end", wide: several, cell: (row) => <Duration ms={row.duration_ms} /> },
      ]}
    />
  );
}
