/** What thousands of steps say together: how they are nested, and how each task of the definition stands. */
import type { NodeState, StepStatus } from "@/graph";
import type { Step } from "./data";

export const isOver = (step: Step) => step.status !== "pending" && step.status !== "running";

/** By number, which counts from 1 without gaps. What is newer replaces. */
export function merged(known: readonly Step[], fresh: readonly Step[]): readonly Step[] {
  if (fresh.length === 0) return known;
  const all = [...known];
  for (const step of fresh) all[step.sequence_num - 1] = step;
  return all;
}

/** The fewest cursors from which pages of `size` show all these numbers. */
export function cursorsFor(numbers: readonly number[], size: number): number[] {
  const cursors: number[] = [];
  for (const number of [...numbers].sort((one, other) => one - other)) {
    const last = cursors.at(-1);
    if (last === undefined || number > last + size) cursors.push(number - 1);
  }
  return cursors;
}

/** Steps that an event may have changed: those not over, of the tasks that it names. */
export function touched(steps: readonly Step[], open: ReadonlySet<number>, references: ReadonlySet<string> | "all"): number[] {
  const found: number[] = [];
  for (const number of open) {
    const step = steps[number - 1];
    if (step && (references === "all" || references.has(step.reference))) found.push(number);
  }
  return found;
}

export interface Placed {
  step: Step;
  depth: number;
  /** Earlier runs of the same task inside the same parent: a loop's rounds, a retry's attempts. */
  run: number;
  /** Where this attempt's wait began: the end of the attempt before it. */
  waitedFrom: string | null;
}

/** Each step in the one that ran it: the last before it whose reference begins its own. */
export function placed(steps: readonly Step[]): Placed[] {
  const latest = new Map<string, { depth: number; runs: number; completed: string | null }>();
  const all: Placed[] = [];
  for (const step of steps) {
    if (!step) continue;
    let around: { depth: number } | undefined;
    for (let cut = step.reference.lastIndexOf("/"); cut > 0 && !around; cut = step.reference.lastIndexOf("/", cut - 1)) {
      around = latest.get(step.reference.slice(0, cut));
    }
    const before = latest.get(step.reference);
    const depth = around ? around.depth + 1 : 0;
    const runs = step.attempt === 1 ? (before?.runs ?? 0) + 1 : (before?.runs ?? 1);
    all.push({ step, depth, run: runs, waitedFrom: step.attempt > 1 ? (before?.completed ?? null) : null });
    latest.set(step.reference, { depth, runs, completed: step.completed_at });
  }
  return all;
}

const LIT: Record<string, StepStatus> = {
  pending: "pending", running: "running", completed: "completed", failed: "failed", skipped: "skipped", cancelled: "cancelled",
};

/** How each task stands: as its last run does. */
export function nodeStates(all: readonly Placed[]): Map<string, NodeState> {
  const states = new Map<string, NodeState>();
  for (const { step, run } of all) {
    const note = noteFor(run, step.attempt);
    states.set(step.reference, { status: LIT[step.status] ?? "pending", ...(note ? { note } : {}) });
  }
  return states;
}

function noteFor(run: number, attempt: number): string {
  return [run > 1 && `${run.toLocaleString("en")}×`, attempt > 1 && `attempt ${attempt}`].filter(Boolean).join(", ");
}

/** `?step=12` by number, `?step=/do/0/x` the last run of a task. */
export function stepFor(steps: readonly Step[], wanted: string | null): Step | null {
  if (!wanted) return null;
  if (/^\d+$/.test(wanted)) return steps[Number(wanted) - 1] ?? null;
  return steps.findLast((step) => step?.reference === wanted) ?? null;
}

export interface Summary {
  total: number;
  failed: number;
  retried: number;
}

export function summary(steps: readonly Step[]): Summary {
  let [failed, retried] = [0, 0];
  for (const step of steps) {
    if (!step) continue;
    if (step.status === "failed") failed += 1;
    if (step.attempt > 1) retried += 1;
  }
  return { total: steps.length, failed, retried };
}
