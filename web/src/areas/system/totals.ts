/** Sums over the workflows of a dashboard. */
import type { Schema } from "@/api/client";

type Summary = Schema<"Summary">;
type Counts = Record<string, number>;

/** Of those that completed or failed, how many completed: whole percent, and 100 only when none failed. */
export function successRate(executions: Counts): number | null {
  const [completed, failed] = [executions["completed"] ?? 0, executions["failed"] ?? 0];
  if (completed + failed === 0) return null;
  const rate = Math.round((completed / (completed + failed)) * 100);
  if (failed && rate === 100) return 99;
  return completed && rate === 0 ? 1 : rate;
}

export const STATUSES = ["pending", "running", "completed", "failed", "cancelled"] as const;

export function summed(active: number, executions: Counts) {
  const of = (name: string) => executions[name] ?? 0;
  return { active, pending: of("pending"), running: of("running"), completed: of("completed"), failed: of("failed"), cancelled: of("cancelled"), rate: successRate(executions) };
}

export function totals(summaries: readonly Summary[]) {
  const sum: Counts = {};
  let active = 0;
  for (const { status, executions } of summaries) {
    if (status === "active") active += 1;
    for (const [name, n] of Object.entries(executions)) sum[name] = (sum[name] ?? 0) + n;
  }
  return summed(active, sum);
}

const BY: Record<string, (row: Summary) => string | number> = {
  name: (row) => row.workflow_name.toLowerCase(),
  status: (row) => row.status,
  rate: (row) => successRate(row.executions) ?? 101,
  running: (row) => row.executions["running"] ?? 0,
  failed: (row) => row.executions["failed"] ?? 0,
  errors: (row) => (row.log_counts["error"] ?? 0) + (row.log_counts["fatal"] ?? 0),
};

export function sorted(summaries: readonly Summary[], key: string, descending: boolean): Summary[] {
  const by = BY[key] ?? BY["name"]!;
  const sign = descending ? -1 : 1;
  return summaries.toSorted((one, other) => {
    const [a, b] = [by(one), by(other)];
    return a < b ? -sign : a > b ? sign : 0;
  });
}
