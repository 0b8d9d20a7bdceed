/** Entries in words. */
const LONG = 300;

/** `12:03:04.567`, in local time. */
export function clock(at: string): string {
  const date = new Date(at);
  const two = (number: number) => String(number).padStart(2, "0");
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${String(date.getMilliseconds()).padStart(3, "0")}`;
}

/** `task=/do/0/x ms=12`; what is nested stays JSON, what is long is cut. */
export function inOneLine(fields: unknown): string {
  if (typeof fields !== "object" || fields === null) return "";
  const text = Object.entries(fields)
    .map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(" ");
  return text.length > LONG ? `${text.slice(0, LONG)}…` : text;
}

const VERBS: Record<string, string> = {
  "workflow.started": "Execution started",
  "workflow.completed": "Execution completed",
  "workflow.faulted": "Execution failed",
  "workflow.cancelled": "Execution cancelled",
  "workflow.suspended": "Execution paused",
  "workflow.resumed": "Execution resumed",
  "workflow.deployed": "Workflow deployed",
  "workflow.stopped": "Workflow stopped",
  "task.created": "Step created",
  "task.started": "Step started",
  "task.completed": "Step completed",
  "task.faulted": "Step failed",
  "task.retried": "Step retried",
  "task.cancelled": "Step cancelled",
  "task.suspended": "Step waits",
  "task.resumed": "Step goes on",
};

export function eventWords(type: string): string {
  return VERBS[type] ?? type;
}

export const EVENT_TYPES = Object.keys(VERBS);

export function eventTone(type: string): "ok" | "bad" | "warn" | "run" | "still" {
  if (/faulted$/.test(type)) return "bad";
  if (/(retried|suspended)$/.test(type)) return "warn";
  if (/(completed|deployed)$/.test(type)) return "ok";
  if (/(started|resumed)$/.test(type)) return "run";
  return "still";
}

/** `Not reachable: no connection to …`, of the DSL's error object. */
export function errorWords(error: unknown): string {
  if (typeof error !== "object" || error === null) return "";
  const { title, detail } = error as { title?: unknown; detail?: unknown };
  return [title, detail].filter((one) => typeof one === "string" && one).join(": ");
}
