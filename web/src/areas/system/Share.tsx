import styles from "./System.module.css";

const ENDS = ["completed", "failed", "cancelled"] as const;

/** How the runs of a workflow ended, as parts of one bar; said in words for who cannot see it. */
export function Share({ executions }: { executions: Record<string, number> }) {
  const ended = ENDS.reduce((sum, name) => sum + (executions[name] ?? 0), 0);
  if (ended === 0) return <span className="muted">No run has ended</span>;
  const words = ENDS.filter((name) => executions[name]).map((name) => `${(executions[name] ?? 0).toLocaleString("en")} ${name}`).join(", ");
  return (
    <span className={styles["share"]} role="img" aria-label={words} title={words}>
      {ENDS.map((name) => executions[name] ? <span key={name} className={styles[name]} style={{ flexGrow: executions[name] }} /> : null)}
    </span>
  );
}
