/** What a definition's graph consists of, in words: names, kinds, states, and the same as an outline. */
import type { Schema } from "@/api/client";

export type Flow = Schema<"Flow">;
export type FlowNode = Schema<"Drawn">;
export type FlowEdge = Schema<"Way">;

export type StepStatus = "pending" | "running" | "completed" | "failed" | "skipped" | "cancelled";

/** How a task stands in an execution. `note` is a few characters beside its icon ("2nd attempt", "7 of 10", "1.2 s"). */
export interface NodeState {
  status: StepStatus;
  note?: string;
}

/** By the task's reference, as its steps have it. */
export type NodeStates = ReadonlyMap<string, NodeState>;

const KINDS: Record<string, string> = {
  call: "Call",
  do: "Do in order",
  emit: "Emit an event",
  for: "For each",
  fork: "In parallel",
  listen: "Listen for events",
  raise: "Raise an error",
  run: "Run",
  set: "Set data",
  switch: "Choose",
  try: "Try",
  wait: "Wait",
  catch: "Catch",
};

export const kindWord = (kind: string) => KINDS[kind] ?? kind;

/** Parts that are no task of their own: where groups begin and end, conditions, the head of a loop. */
const HELPING = new Set(["start", "end", "point", "if", "loop", "catch"]);

/** A task, drawn as a box or as a group around others; only these have states and can be selected. */
export const isTask = (node: FlowNode) => !HELPING.has(node.kind) && node.reference !== "" && !isHandler(node);

/** The group of what is done after a `catch`: part of its `try`, no task. */
const isHandler = (node: FlowNode) => node.group && node.reference.endsWith("/catch");

const unescaped = (segment: string) => segment.replaceAll("~1", "/").replaceAll("~0", "~");

/** The name that a task has in its list: the end of its reference. */
export function nameOf(node: FlowNode): string {
  if (!isTask(node)) return node.label;
  return unescaped(node.reference.slice(node.reference.lastIndexOf("/") + 1));
}

/** What it does, in one line. */
export function detailOf(node: FlowNode): string {
  if (node.group) return node.label.endsWith("(the first wins)") ? "the first wins" : "";
  if (!isTask(node)) return "";
  const second = node.label.indexOf("\n");
  return second < 0 ? "" : node.label.slice(second + 1).replaceAll("\n", " ");
}

export interface OutlineItem {
  node: FlowNode;
  inside: OutlineItem[];
}

/** The tasks as a tree, in the order of the definition. */
export function outlineOf(flow: Flow): OutlineItem[] {
  const top: OutlineItem[] = [];
  const lists = new Map<string | null, OutlineItem[]>([[null, top]]);
  for (const node of flow.nodes) {
    const list = lists.get(node.parent) ?? top;
    if (!node.group && !isTask(node)) continue;
    const item: OutlineItem = { node, inside: [] };
    list.push(item);
    if (node.group) lists.set(node.id, item.inside);
  }
  return top;
}

/** The innermost task that stands on a line of the text; null between tasks. */
export function taskAtLine(flow: Flow, line: number): string | null {
  let found: FlowNode | null = null;
  for (const node of flow.nodes) {
    if (!isTask(node) || node.line === null || node.end_line === null || line < node.line || line > node.end_line) continue;
    if (found === null || node.line >= (found.line ?? 0)) found = node;
  }
  return found?.reference ?? null;
}
