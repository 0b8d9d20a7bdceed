/** How the parts of a graph look: tasks as boxes, tasks that hold others as frames, everything else as small marks. */
import type { Node, NodeProps } from "@xyflow/react";
import { memo } from "react";

import { Icon, type IconName, toneOf } from "@/components";
import styles from "./Graph.module.css";
import { KindIcon } from "./KindIcon";
import { useLight } from "./lights";
import { detailOf, type FlowNode, isTask, kindWord, nameOf, type StepStatus } from "./model";

export type GraphNode = Node<{ part: FlowNode }>;

const ICONS: Record<StepStatus, IconName> = {
  pending: "clock",
  running: "refresh",
  completed: "check",
  failed: "cross",
  skipped: "skip",
  cancelled: "dash",
};

function look(base: string, light: { status: StepStatus | undefined; selected: boolean; lit: boolean }): string {
  const tone = light.status ? toneOf(light.status) : light.lit ? "unlit" : "";
  return [styles[base], tone && styles[tone], light.status && styles[light.status], light.selected && styles["selected"]].filter(Boolean).join(" ");
}

function State({ status, note }: { status: StepStatus | undefined; note: string | undefined }) {
  if (!status) return null;
  return (
    <span className={styles["state"]} title={status}>
      {note && <small>{note}</small>}
      <i><Icon name={ICONS[status]} size={12} /></i>
    </span>
  );
}

function TaskNode({ data: { part } }: NodeProps<GraphNode>) {
  const light = useLight(part.reference);
  const detail = detailOf(part);
  return (
    <div className={`${look("task", light)} ${styles[`kind-${part.kind}`] ?? ""}`} title={`${nameOf(part)}${detail ? `: ${detail}` : ""}`}>
      <span className={styles["kind"]}><KindIcon kind={part.kind} /></span>
      <span className={styles["words"]}>
        <b>{nameOf(part)}</b>
        {detail && <small>{detail}</small>}
      </span>
      <State {...light} />
    </div>
  );
}

function GroupNode({ data: { part } }: NodeProps<GraphNode>) {
  const light = useLight(isTask(part) ? part.reference : "");
  return <div className={look("group", light)} />;
}

/** A node of its own: lines go over a group, and behind the words on its head. */
function HeadNode({ data: { part } }: NodeProps<GraphNode>) {
  const task = isTask(part);
  const light = useLight(task ? part.reference : "");
  return (
    <div className={look("head", { ...light, selected: false })}>
      <div className={styles["groupHead"]}>
        <KindIcon kind={task ? part.kind : "catch"} size={14} />
        <b>{task ? nameOf(part) : "When caught"}</b>
        <small>{task ? detailOf(part) || kindWord(part.kind).toLowerCase() : ""}</small>
        <State {...light} />
      </div>
    </div>
  );
}

function MarkNode({ data: { part } }: NodeProps<GraphNode>) {
  if (part.kind === "point") return <div className={styles["point"]} />;
  if (part.kind === "start" || part.kind === "end") return <div className={`${styles["mark"]} ${styles[part.kind]}`}>{part.kind === "start" ? "Start" : "End"}</div>;
  return (
    <div className={styles["mark"]} title={part.label}>
      <KindIcon kind={part.kind} size={13} />
      <span>{part.label.split("\n")[0]}</span>
    </div>
  );
}

// Not `group`: the library has a look of its own for that.
export const nodeTypes = { task: memo(TaskNode), frame: memo(GroupNode), head: memo(HeadNode), mark: memo(MarkNode) };
