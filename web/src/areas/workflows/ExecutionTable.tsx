import type { ReactNode } from "react";
import { Link } from "react-router";

import { type Column, Duration, Status, Table, Time } from "@/components";
import { paths } from "@/paths";
import type { Execution } from "./data";
import styles from "./Workflows.module.css";

const TRIGGERS: Record<string, string> = { manual: "By hand", schedule: "Schedule", event: "Event", link: "Link", subflow: "Workflow" };

/** Executions, the newest first. */
export function ExecutionTable({ label, executions, empty, compact }: { label: string; executions: Execution[]; empty: ReactNode; compact?: boolean }) {
  return (
    <Table
      label={label}
      rows={executions}
      rowKey={(row) => row.id}
      empty={empty}
      columns={[
        { key: "started", head: "Started", width: "minmax(8.2rem, 1.2fr)", cell: (row) => <Link to={paths.execution(row.id)}><Time at={row.started_at ?? row.created_at} /></Link> },
        { key: "status", head: "Status", width: "minmax(8.4rem, 1fr)", cell: (row) => <Status status={row.status} /> },
        { key: "error", head: "What happened", width: "minmax(6rem, 3fr)", wide: true, cell: (row) => <span className={styles["error"]} title={row.error_message ?? undefined}>{row.error_message ?? ""}</span> },
        ...(compact ? [] : [{ key: "trigger", head: "By", width: "minmax(6rem, 0.8fr)", wide: true, cell: (row: Execution) => TRIGGERS[row.trigger_type] ?? row.trigger_type } satisfies Column<Execution>,
        { key: "version", head: "Version", width: "minmax(5rem, 0.5fr)", align: "end", wide: true, cell: (row: Execution) => row.version } satisfies Column<Execution>]),
        { key: "duration", head: "Took", width: "minmax(4.6rem, 0.8fr)", align: "end", cell: (row) => <Duration ms={row.duration_ms} /> },
      ]}
    />
  );
}
