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

const STARTED: Column<Row> = { key: "started", head: "Started", width: "minmax(9.2rem, 1.2fr)", cell: (row) => <><Link to={paths.execution(row.id)}><Time at={whenOf(row)} /></Link><What row={row} /></> };
const STATUS: Column<Row> = { key: "status", head: "Status", width: "minmax(9rem, 1fr)", cell: (row) => <Status status={row.status} /> };
const BY: Column<Row> = { key: "trigger", head: "By", width: "minmax(8rem, 1fr)", wide: true, cell: (row) => row.triggered_by ? <Who person={row.triggered_by} /> : (TRIGGERS[row.trigger_type] ?? row.trigger_type) };
const VERSION: Column<Row> = { key: "version", head: "Version", width: "minmax(5rem, 0.5fr)", align: "end", wide: true, cell: (row) => row.version };
const TOOK: Column<Row> = { key: "duration", head: "Took", width: "minmax(5.6rem, 0.8fr)", align: "end", wide: true, cell: (row) => <Duration ms={row.duration_ms} /> };

const whatHappened = (width: string): Column<Row> => ({
  key: "error", head: "What happened", width, wide: true,
  cell: (row) => <span className={styles["error"]} title={row.error_message ?? undefined}>{row.error_message ?? ""}</span>,
});

/** On a phone, where there is no room for a column of it. */
const What = ({ row }: { row: Row }) => row.error_message && <small className={styles["what"]}>{row.error_message}</small>;

/** By name, first: among many workflows that is what one looks for. */
const OF_MANY: Column<Row>[] = [
  {
    key: "workflow", head: "Workflow", width: "minmax(9rem, 2fr)",
    cell: (row) => (
      <>
        <Link to={paths.execution(row.id)} title={row.workflow && `${row.workflow.name} in ${row.workflow.project_name}`}>{row.workflow?.name}</Link>
        <small className={styles["when"]}><Time at={whenOf(row)} /></small>
        <What row={row} />
      </>
    ),
  },
  STATUS,
  whatHappened("minmax(6rem, 3fr)"),
  BY,
  { ...STARTED, wide: true, cell: (row) => <Time at={whenOf(row)} /> },
  TOOK,
];

const whenOf = (row: Row) => row.started_at ?? row.created_at;

/** Executions, the newest first; those of many workflows with the name of each. */
export function ExecutionTable({ label, executions, empty, compact }: { label: string; executions: Row[]; empty: ReactNode; compact?: boolean }) {
  const ofOne = [STARTED, STATUS, whatHappened("minmax(6rem, 3fr)"), ...(compact ? [] : [BY, VERSION]), TOOK];
  const columns = executions.some((row) => row.workflow) ? OF_MANY : ofOne;
  return <Table label={label} rows={executions} rowKey={(row) => row.id} empty={empty} columns={columns} />;
}
