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

export interface Part {
  after: number;
  size: number;
}

/** The fewest pages that show all these numbers, each no larger than it must be. */
export function pagesFor(numbers: readonly number[], most: number): Part[] {
  const pages: Part[] = [];
  for (const number of [...numbers].sort((one, other) => one - other)) {
    const last = pages.at(-1);
    if (last === undefined || number > last.after + most) pages.push({ after: number - 1, size: 1 });
    else last.size = number - last.after;
  }
  return pages;
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
  /** In milliseconds: when it began, when it ended, and when this attempt's wait began: the end of the one before it. */
  began: number | null;
  ended: number | null;
  waitedFrom: number | null;
}

/** What has not changed stays the same thing, however often it is asked for, so that nobody draws it anew. */
const known = new WeakMap<Step, Placed>();

function placedAs(step: Step, depth: number, run: number, waitedFrom: number | null): Placed {
  const before = known.get(step);
  if (before?.depth === depth && before.run === run && before.waitedFrom === waitedFrom) return before;
  const made = { step, depth, run, began: momentOf(step.started_at), ended: momentOf(step.completed_at), waitedFrom };
  known.set(step, made);
  return made;
}

const momentOf = (at: string | null) => (at === null ? null : Date.parse(at));

/** Each step in the one that ran it: the last before it whose reference begins its own. */
export function placed(steps: readonly Step[]): Placed[] {
  const latest = new Map<string, Placed>();
  const all: Placed[] = [];
  for (const step of steps) {
    if (!step) continue;
    let around: Placed | undefined;
    for (let cut = step.reference.lastIndexOf("/"); cut > 0 && !around; cut = step.reference.lastIndexOf("/", cut - 1)) {
      around = latest.get(step.reference.slice(0, cut));
    }
    const before = latest.get(step.reference);
    const depth = around ? around.depth + 1 : 0;
    const run = step.attempt === 1 ? (before?.run ?? 0) + 1 : (before?.run ?? 1);
    const one = placedAs(step, depth, run, step.attempt > 1 ? (before?.ended ?? null) : null);
    all.push(one);
    latest.set(step.reference, one);
  }
  return all;
}

const LIT: Record<string, StepStatus> = {
  pending: "pending", running: "running", completed: "completed", failed: "failed", skipped: "skipped", cancelled: "cancelled",
};

/** How each task stands: as its last run does. */
export function nodeStates(all: readonly Placed[]): Map<string, NodeState> {
  const last = new Map<string, Placed>();
  for (const one of all) last.set(one.step.reference, one);
  // Words are made for tasks, not for each of their runs: a number in words takes longer than all else here.
  return new Map([...last].map(([reference, one]) => [reference, stateOf(one)]));
}

function stateOf({ step, run }: Placed): NodeState {
  const note = noteFor(run, step.attempt);
  return { status: LIT[step.status] ?? "pending", ...(note ? { note } : {}) };
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
