/** The drawing itself. Loaded when needed: import `Graph` from `@/graph`. */
import "@xyflow/react/dist/base.css";

import { MiniMap, ReactFlow, ReactFlowProvider, useReactFlow } from "@xyflow/react";
import { type KeyboardEvent, useEffect, useMemo, useRef, useState } from "react";

import { IconButton } from "@/components";
import { Cursor } from "./cursor";
import styles from "./Graph.module.css";
import type { GraphProps } from "./index";
import { type Box, type Layout, layoutOf } from "./layout";
import { Lights, LightsContext } from "./lights";
import { Lines } from "./Lines";
import { type Flow, type FlowNode, isTask, nameOf, type NodeStates, outlineOf } from "./model";
import { type GraphNode, nodeTypes } from "./nodes";
import { Outline } from "./Outline";

const NO_STATES: NodeStates = new Map();
/** From here on, a small map helps, and only what is in sight is drawn. */
const LARGE = 60;
/** More than this is no drawing that one could read; the list is. */
const MOST = 1500;
const HEAD = 28; // pixels of a group's head

export default function Canvas(props: GraphProps) {
  const tooMany = props.graph.nodes.length > MOST;
  const [listed, setListed] = useState(false);
  const asList = listed || tooMany;
  const states = props.states ?? NO_STATES;
  return (
    <div className={`${styles["frame"]} ${props.className ?? ""}`}>
      {asList ? (
        <div className={styles["listed"]} role="region" aria-label={`${props.label}, as a list`} tabIndex={0}>
          <Outline items={outlineOf(props.graph)} states={states} selected={props.selected ?? null} onSelect={props.onSelect} />
        </div>
      ) : (
        <ReactFlowProvider>
          <Drawing {...props} states={states} onList={() => setListed(true)} />
        </ReactFlowProvider>
      )}
      {listed && !tooMany && (
        <div className={styles["tools"]}>
          <IconButton label="Show as a graph" icon="flow" size="small" onClick={() => setListed(false)} />
        </div>
      )}
    </div>
  );
}

function Drawing({ graph, states, selected = null, onSelect, label, onList }: GraphProps & { states: NodeStates; onList: () => void }) {
  const layout = useMemo(() => layoutOf(graph), [graph]);
  const nodes = useMemo(() => nodesOf(graph, layout), [graph, layout]);
  const tasks = useMemo(() => graph.nodes.filter(isTask), [graph]);
  const [lights] = useState(() => new Lights());
  useEffect(() => lights.show(states, selected), [lights, states, selected]);
  const frame = useRef<HTMLDivElement>(null);
  const view = useView(frame, layout, graph, selected);
  const large = graph.nodes.length > LARGE;

  const [cursor] = useState(() => new Cursor());
  useEffect(() => cursor.shown(selected), [cursor, selected]);
  const move = (step: 1 | -1) => {
    const next = cursor.move(tasks.map((task) => task.reference), step);
    if (next !== undefined) onSelect?.(next);
  };
  const keys: Record<string, () => void> = {
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    Escape: () => onSelect?.(null),
    "+": view.zoomIn,
    "=": view.zoomIn,
    "-": view.zoomOut,
    "0": view.fit,
  };
  const pressed = (event: KeyboardEvent) => {
    const action = event.target === frame.current && !event.ctrlKey && !event.metaKey && !event.altKey ? keys[event.key] : undefined;
    if (!action) return;
    event.preventDefault();
    action();
  };
  const chosen = tasks.find((task) => task.reference === selected);
  return (
    <LightsContext value={lights}>
      <div ref={frame} className={styles["canvas"]} tabIndex={0} role="group" onKeyDown={pressed}
        aria-label={`${label}. Arrow keys go from task to task, plus and minus zoom, 0 shows all. “Show as a list” has the same as text.`}>
        <ReactFlow<GraphNode>
          nodes={nodes}
          edges={[]}
          nodeTypes={nodeTypes}
          nodesDraggable={false}
          nodesConnectable={false}
          nodesFocusable={false}
          elementsSelectable={false}
          disableKeyboardA11y
          deleteKeyCode={null}
          selectionKeyCode={null}
          multiSelectionKeyCode={null}
          panActivationKeyCode={null}
          panOnScroll
          zoomOnDoubleClick={false}
          minZoom={0.05}
          maxZoom={2}
          onlyRenderVisibleElements={large}
          onInit={view.begin}
          onNodeClick={(_, node) => isTask(node.data.part) && onSelect?.(node.data.part.reference)}
          onPaneClick={() => onSelect?.(null)}
          proOptions={{ hideAttribution: true }}
          aria-label={label}
        >
          <Lines layout={layout} />
          {large && layout.width > layout.height / 6 && <MiniMap pannable zoomable ariaLabel="Map of the whole graph" className={styles["map"] ?? ""} nodeColor="var(--line-strong)" maskColor="color-mix(in srgb, var(--sunken) 70%, transparent)" bgColor="var(--surface)" />}
        </ReactFlow>
        <span className="visually-hidden" aria-live="polite">{chosen ? `${nameOf(chosen)}${states.get(chosen.reference) ? `, ${states.get(chosen.reference)?.status}` : ""}` : ""}</span>
      </div>
      <div className={styles["tools"]}>
        <IconButton label="Zoom in" icon="plus" size="small" onClick={view.zoomIn} />
        <IconButton label="Zoom out" icon="dash" size="small" onClick={view.zoomOut} />
        <IconButton label="Show all" icon="fit" size="small" onClick={view.fit} />
        <IconButton label="Show as a list" icon="list" size="small" onClick={onList} />
      </div>
    </LightsContext>
  );
}

function nodesOf(graph: Flow, layout: Layout): GraphNode[] {
  return graph.nodes.flatMap((part) => {
    const box = layout.boxes.get(part.id) ?? { x: 0, y: 0, width: 10, height: 10 };
    if (!part.group) return [nodeOf(part, part.id, isTask(part) ? "task" : "mark", box, 2)];
    const head = { x: box.x + 1, y: box.y + 1, width: box.width - 2, height: HEAD };
    return [nodeOf(part, part.id, "frame", box, 0), nodeOf(part, `${part.id} head`, "head", head, 2)];
  });
}

function nodeOf(part: FlowNode, id: string, type: keyof typeof nodeTypes, box: Box, zIndex: number): GraphNode {
  return { id, type, position: { x: box.x, y: box.y }, width: box.width, height: box.height, zIndex, data: { part } };
}

const READABLE = 0.6;

/** Where one looks: all of it at first, or its beginning when all would be too small to read; then at what is selected. */
function useView(frame: React.RefObject<HTMLDivElement | null>, layout: Layout, graph: Flow, selected: string | null) {
  const flow = useReactFlow<GraphNode>();
  const begun = useRef(false);
  const begin = () => {
    const size = frame.current?.getBoundingClientRect();
    if (!size || size.width === 0) return;
    begun.current = true;
    const all = Math.min(1, size.width / (layout.width + 24), size.height / (layout.height + 24));
    const zoom = Math.max(all, Math.min(READABLE, 1));
    const start = layout.boxes.get("begin");
    const tall = layout.height * zoom > size.height;
    const broad = layout.width * zoom > size.width;
    const middle = broad && start ? start.x + start.width / 2 : layout.width / 2;
    void flow.setViewport({ x: size.width / 2 - middle * zoom, y: tall ? 4 : (size.height - layout.height * zoom) / 2, zoom });
  };
  const follow = () => {
    const size = frame.current?.getBoundingClientRect();
    const node = graph.nodes.find((part) => isTask(part) && part.reference === selected);
    const box = node && layout.boxes.get(node.id);
    if (!begun.current || !size || !box) return;
    const { x, y, zoom } = flow.getViewport();
    const [left, top] = [box.x * zoom + x, box.y * zoom + y];
    const height = Math.min(box.height, 60) * zoom;
    const seen = left >= 0 && top >= 0 && left + box.width * zoom <= size.width && top + height <= size.height;
    if (!seen) void flow.setCenter(box.x + box.width / 2, box.y + Math.min(box.height, 60) / 2, { zoom: Math.max(zoom, READABLE), duration: 200 });
  };
  // A panel that opens, a phone that is turned: what was in the middle stays there.
  useEffect(() => {
    const node = frame.current;
    if (!node) return;
    let { width } = node.getBoundingClientRect();
    const watching = new ResizeObserver(() => {
      const before = width;
      ({ width } = node.getBoundingClientRect());
      if (!begun.current || before === width) return;
      const { x, y, zoom } = flow.getViewport();
      void flow.setViewport({ x: x + (width - before) / 2, y, zoom });
    });
    watching.observe(node);
    return () => watching.disconnect();
  }, [flow, frame]);
  // Only what is selected moves the view: a graph that is lit anew stays where it is.
  useEffect(follow, [flow, frame, graph, layout, selected]);
  return {
    begin: () => {
      begin();
      follow();
    },
    zoomIn: () => void flow.zoomIn(),
    zoomOut: () => void flow.zoomOut(),
    fit: () => void flow.fitBounds({ x: 0, y: 0, width: layout.width, height: layout.height }, { padding: 0.04 }),
  };
}
