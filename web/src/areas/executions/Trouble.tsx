import { Link } from "react-router";

import { CopyButton, Icon } from "@/components";
import { paths } from "@/paths";
import { type Execution, membersOf, textIn } from "./data";
import styles from "./Executions.module.css";

const LONG = 300; // characters that may not fit, so that it is scrolled

/** Why it failed: what, in words; where, as a link to the step; and of what type, for who wants to catch it. */
export function Trouble({ execution }: { execution: Execution }) {
  if (execution.status !== "failed") return null;
  const { error } = execution;
  const title = textIn(error, "title") ?? execution.error_message ?? "It failed";
  const detail = textIn(error, "detail");
  const instance = textIn(error, "instance");
  const step = instance?.split("/").at(-1);
  const type = textIn(error, "type");
  const status = membersOf(error)["status"];
  return (
    <section className={styles["trouble"]} aria-label="Why it failed">
      <Icon name="alert" size={18} />
      <div>
        <h2>{title}</h2>
        {/* However long it is, what one does about it stays in sight. */}
        {detail && <p className={styles["detail"]} tabIndex={detail.length > LONG ? 0 : undefined}>{detail}</p>}
        <p className={styles["where"]}>
          {instance && step ? <span>In step <Link to={paths.execution(execution.id, instance)}>{step}</Link></span> : instance && <span>Not in a step, but of the workflow as a whole</span>}
          {type && <span title={type}>Error type <code>{type.split("/").at(-1)}</code>{typeof status === "number" && <> {status}</>}</span>}
        </p>
      </div>
      <CopyButton label="Copy error" text={() => JSON.stringify(error ?? execution.error_message, null, 2)} />
    </section>
  );
}
