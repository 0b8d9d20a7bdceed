/** The graph of a definition: `<Graph graph={…} states={…} selected={…} onSelect={…} label="Graph of …" />`, as large as what is around it. */
import { lazy, Suspense } from "react";

import { Skeleton } from "@/components";
import type { Flow, NodeStates } from "./model";

export { detailOf, isTask, kindWord, nameOf, taskAtLine, type Flow, type FlowNode, type NodeState, type NodeStates, type StepStatus } from "./model";
export { KindIcon } from "./KindIcon";

export interface GraphProps {
  /** As `POST /definitions/check` gives it. */
  graph: Flow;
  label: string;
  /** By reference. With any state given, tasks without one are shown as not reached. A new map tells of a change. */
  states?: NodeStates;
  /** The reference of a task. The view follows it. */
  selected?: string | null;
  onSelect?: (reference: string | null) => void;
  className?: string;
}

const Canvas = lazy(() => import("./Canvas"));

export function Graph(props: GraphProps) {
  return (
    <Suspense fallback={<Skeleton height="100%" />}>
      <Canvas {...props} />
    </Suspense>
  );
}
