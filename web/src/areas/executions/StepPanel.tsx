/** One step: how it went, what went in and came out, its other runs, and what was logged of it. */
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";

import { api } from "@/api/client";
import { Button, CopyButton, ErrorState, IconButton, JsonView, SkeletonLines, Status, Tabs, Time } from "@/components";
import { KindIcon, kindWord } from "@/graph";
import { useRerun } from "./Actions";
import { type Execution, hasEnded, membersOf, type Step, stepQuery } from "./data";
import styles from "./Executions.module.css";
import { RunningTime } from "./RunningTime";

interface StepPanelProps {
  step: Step;
  execution: Execution;
  steps: readonly Step[];
  mayRun: boolean;
  onChoose: (step: number) => void;
  onClose: () => void;
}

type Part = "input" | "output" | "log";

export function StepPanel({ step, execution, steps, mayRun, onChoose, onClose }: StepPanelProps) {
  const [part, setPart] = useState<Part>(step.status === "failed" ? "input" : "output");
  const whole = useQuery(stepQuery(execution.id, step.sequence_num, step.status));
  const again = useRerun(execution);
  return (
    <aside className={`card ${styles["panel"]}`} aria-label={`Step ${step.step_name}`} onKeyDown={(event) => event.key === "Escape" && onClose()}>
      <div className={styles["panelHead"]}>
        <h2><KindIcon kind={step.step_type} /> {step.step_name}</h2>
        <IconButton label="Close step" icon="cross" size="small" onClick={onClose} />
      </div>
      <div className="row">
        <Status status={step.status} />
        <span className="muted">{kindWord(step.step_type)}</span>
        {step.started_at && <span><RunningTime from={step.started_at} to={step.completed_at} /></span>}
        {step.started_at && <span className="muted"><Time at={step.started_at} style="exact" /></span>}
      </div>
      <div className={styles["reference"]}><code>{step.reference}</code><CopyButton label="Copy reference" text={step.reference} /></div>
      <Runs step={step} steps={steps} onChoose={onChoose} />
      {step.error_message && <p className={styles["failure"]}>{step.error_message}</p>}
      {whole.error ? <ErrorState error={whole.error} onRetry={() => void whole.refetch()} /> : (
        <Tabs<Part>
          label="Data of the step"
          chosen={part}
          onChoose={setPart}
          tabs={[
            { key: "input", label: "Input", content: <Data label="input" step={whole.data} value={whole.data?.input_data} none="It has not begun." /> },
            { key: "output", label: "Output", content: <Data label="output" step={whole.data} value={whole.data?.output_data} none={noOutput(step)} /> },
            { key: "log", label: "Log", content: <StepLog step={step} workflow={execution.workflow_id} /> },
          ]}
        />
      )}
      {mayRun && hasEnded(execution.status) && (
        <div>
          <Button icon="refresh" size="small" busy={again.busy} onClick={() => void again.rerun(step.reference)}>Run again from here</Button>
          <p className="muted">What was finished before this step is kept and not done again.</p>
        </div>
      )}
    </aside>
  );
}

function noOutput(step: Step): string {
  if (step.status === "running") return "It is still running.";
  if (step.status === "failed") return "It failed, so nothing came out.";
  if (step.status === "skipped") return "Its condition was false, so it was skipped.";
  return "Nothing came out.";
}

function Data({ step, value, label, none }: { step: Step | undefined; value: unknown; label: string; none: string }) {
  if (!step) return <SkeletonLines lines={3} />;
  if (value === null || value === undefined) return <p className={styles["nothing"]}>{none}</p>;
  return <JsonView label={label} value={value} />;
}

const MANY = 8;

/** A loop's rounds and a retry's attempts: each is a step, and one goes from one to the next. */
function Runs({ step, steps, onChoose }: { step: Step; steps: readonly Step[]; onChoose: (step: number) => void }) {
  const runs = useMemo(() => steps.filter((one) => one?.reference === step.reference), [steps, step.reference]);
  if (runs.length < 2) return null;
  const at = runs.findIndex((one) => one.sequence_num === step.sequence_num);
  const go = (to: number) => {
    const next = runs[to];
    if (next) onChoose(next.sequence_num);
  };
  const rounds = runs.filter((one) => one.attempt === 1).length;
  const words = rounds > 1 ? `Run ${at + 1} of ${runs.length.toLocaleString("en")}` : `Attempt ${step.attempt} of ${runs.length}`;
  return (
    <div className="row">
      <IconButton label="Run before" icon="up" size="small" disabled={at <= 0} onClick={() => go(at - 1)} />
      <IconButton label="Run after" icon="down" size="small" disabled={at >= runs.length - 1} onClick={() => go(at + 1)} />
      <span>{words}{rounds > 1 && step.attempt > 1 && `, attempt ${step.attempt}`}</span>
      {runs.length <= MANY && runs.map((one) => (
        <button key={one.sequence_num} type="button" className={`${styles["run"]} ${styles[one.status] ?? ""}`} aria-current={one.sequence_num === step.sequence_num || undefined}
          aria-label={`Step ${one.sequence_num}, ${one.status}`} onClick={() => onChoose(one.sequence_num)} />
      ))}
    </div>
  );
}

/** Lines of the time in which it ran that name its task. */
function StepLog({ step, workflow }: { step: Step; workflow: string }) {
  const lines = useQuery({
    queryKey: ["logs", workflow, "step", step.id, step.status],
    queryFn: async () => {
      const since = step.started_at ? { since: step.started_at } : {};
      const until = step.completed_at ? { until: new Date(Date.parse(step.completed_at) + 1000).toISOString() } : {};
      const query = { execution_id: step.execution_id, ...since, ...until, page_size: 100 };
      const page = await api.get("/api/v1/workflows/{id}/logs", { params: { path: { id: workflow }, query } });
      return page.items.filter((one) => membersOf(one.fields)["task"] === step.reference).reverse();
    },
    enabled: step.started_at !== null,
  });
  if (lines.error) return <ErrorState error={lines.error} onRetry={() => void lines.refetch()} />;
  if (lines.isPending && step.started_at !== null) return <SkeletonLines lines={3} />;
  if (!lines.data?.length) return <p className={styles["nothing"]}>Nothing was logged while it ran.</p>;
  return (
    <ol className={styles["log"]} aria-label="Log of the step">
      {lines.data.map((line) => <li key={line.id}><b className={styles[line.level] ?? ""}>{line.level}</b> {line.message}</li>)}
    </ol>
  );
}
