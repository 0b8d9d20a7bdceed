import { EmptyState, JsonView, Section } from "@/components";
import { useShown } from "./context";
import { hasEnded } from "./data";
import styles from "./Executions.module.css";

/** What went in at the start, and what came out at the end. */
export function Component() {
  const { execution } = useShown();
  const ended = hasEnded(execution.status);
  return (
    <div className={styles["two"]}>
      <Section title="Input"><JsonView label="input" value={execution.trigger_data} open={3} /></Section>
      <Section title="Output">
        {execution.status === "completed"
          ? <JsonView label="output" value={execution.output_data} open={3} />
          : <div className="card"><EmptyState icon={ended ? "dash" : "clock"} title={ended ? "Nothing came out" : "Not yet"}>{ended ? `The execution ${execution.status === "failed" ? "failed" : "was cancelled"} before its end.` : "The output is here when the execution has completed."}</EmptyState></div>}
      </Section>
    </div>
  );
}
