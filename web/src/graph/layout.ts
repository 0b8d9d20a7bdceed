/** Where everything of a graph is drawn: each group by itself with dagre, then as one box in the group around it. */
import { graphlib, layout as dagre } from "@dagrejs/dagre";

import { detailOf, type Flow, type FlowEdge, type FlowNode, nameOf } from "./model";

export interface Point {
  x: number;
  y: number;
}

export interface Box extends Point {
  width: number;
  height: number;
}

export interface Line {
  key: string;
  path: string;
  dashed: boolean;
  label: string;
  /** The middle of the label. */
  at: Point | null;
}

export interface Layout {
  boxes: ReadonlyMap<string, Box>;
  lines: Line[];
  width: number;
  height: number;
}

const HEAD = 30;
const PADDING = 18;
const LANE = 18;
const LABEL_HEIGHT = 18;
const MOST_LABEL = 170;

const wide = (text: string, perCharacter: number) => text.length * perCharacter;
export const labelWidth = (label: string) => Math.min(MOST_LABEL, wide(label, 6.3) + 12);

function sizeOf(node: FlowNode): { width: number; height: number } {
  switch (node.kind) {
    case "start":
    case "end":
      return { width: 68, height: 28 };
    case "point":
      return { width: 10, height: 10 };
    case "if":
    case "loop":
    case "catch":
      return { width: Math.min(230, Math.max(90, wide(node.label.split("\n")[0] ?? "", 6.6) + 46)), height: 32 };
    default: {
      const detail = detailOf(node);
      const text = Math.max(wide(nameOf(node), 7.4), wide(detail, 6.4));
      return { width: Math.min(250, Math.max(140, text + 58)), height: detail ? 52 : 40 };
    }
  }
}

interface Level {
  nodes: FlowNode[];
  edges: { edge: FlowEdge; key: string; from: string; to: string }[];
}

/** What was placed inside a group, from its own corner. */
interface Placed {
  width: number;
  height: number;
  boxes: Map<string, Box>;
  routes: Map<string, Point[]>;
  labels: Map<string, Point>;
}

export function layoutOf(flow: Flow): Layout {
  const byId = new Map(flow.nodes.map((node) => [node.id, node]));
  const levels = levelsOf(flow, byId);
  const top = place(null, levels);
  const boxes = new Map<string, Box>();
  const routes = new Map<string, Point[]>();
  const labels = new Map<string, Point>();
  const settle = (placed: Placed, x: number, y: number) => {
    for (const [id, box] of placed.boxes) boxes.set(id, { ...box, x: box.x + x, y: box.y + y });
    for (const [key, points] of placed.routes) routes.set(key, points.map((point) => ({ x: point.x + x, y: point.y + y })));
    for (const [key, point] of placed.labels) labels.set(key, { x: point.x + x, y: point.y + y });
  };
  settle(top, 0, 0);
  const lines = flow.edges.map((edge, index) => {
    const key = String(index);
    const points = joined(boxes.get(edge.source), boxes.get(edge.target), routes.get(key) ?? []);
    return { key, path: isLane(routes.get(key)) ? angular(points) : curved(points), dashed: edge.dashed, label: edge.label, at: edge.label ? (labels.get(key) ?? null) : null };
  });
  return { boxes, lines, width: top.width, height: top.height };
}

/** Each edge belongs to the innermost group that holds both its ends; there it joins the boxes that hold them. */
function levelsOf(flow: Flow, byId: Map<string, FlowNode>): Map<string | null, Level> {
  const levels = new Map<string | null, Level>();
  const levelOf = (id: string | null) => {
    const known = levels.get(id) ?? { nodes: [], edges: [] };
    levels.set(id, known);
    return known;
  };
  const chain = (id: string) => {
    const ids = [id];
    for (let node = byId.get(id); node?.parent; node = byId.get(node.parent)) ids.push(node.parent);
    return ids.reverse();
  };
  for (const node of flow.nodes) levelOf(node.parent).nodes.push(node);
  flow.edges.forEach((edge, index) => {
    const [source, target] = [chain(edge.source), chain(edge.target)];
    let depth = 0;
    while (source[depth] === target[depth] && depth < Math.min(source.length, target.length) - 1) depth++;
    const [from, to] = [source[depth], target[depth]];
    if (from && to) levelOf(depth ? (source[depth - 1] ?? null) : null).edges.push({ edge, key: String(index), from, to });
  });
  return levels;
}

function place(parent: string | null, levels: Map<string | null, Level>): Placed {
  const level = levels.get(parent) ?? { nodes: [], edges: [] };
  const inner = new Map(level.nodes.filter((node) => node.group).map((node) => [node.id, place(node.id, levels)]));
  const graph = new graphlib.Graph({ multigraph: true });
  graph.setGraph({ rankdir: "TB", nodesep: 36, ranksep: 30, edgesep: 18, marginx: PADDING, marginy: parent === null ? PADDING : 8, ranker: level.nodes.length > 80 ? "longest-path" : "network-simplex" });
  for (const node of level.nodes) {
    const size = inner.get(node.id) ?? sizeOf(node);
    graph.setNode(node.id, { width: size.width, height: size.height });
  }
  const order = orderOf(level);
  const leads = new Set<string>();
  const back = level.edges.filter(({ from, to }) => (order.get(to) ?? 0) <= (order.get(from) ?? 0));
  for (const { edge, key, from, to } of level.edges) {
    if ((order.get(to) ?? 0) <= (order.get(from) ?? 0)) continue;
    leads.add(from);
    const label = edge.label ? { width: labelWidth(edge.label), height: LABEL_HEIGHT, labelpos: "c" } : { width: 0, height: 0 };
    graph.setEdge(from, to, { ...label, weight: edge.dashed ? 1 : 3 }, key);
  }
  const exit = wayOut(level);
  // What leads nowhere (an error raised, the last of a loop's tasks) still stands above the way out.
  if (exit) for (const node of level.nodes) if (node.id !== exit && !leads.has(node.id)) graph.setEdge(node.id, exit, { weight: 1 }, `hold-${node.id}`);
  dagre(graph);
  return collected(parent, level, graph, inner, back);
}

/** The order of the definition; a group's way out is last although it is drawn up second. */
function orderOf(level: Level): Map<string, number> {
  const exit = wayOut(level);
  return new Map(level.nodes.map((node, index) => [node.id, node.id === exit ? level.nodes.length : index]));
}

function wayOut(level: Level): string | undefined {
  const points = level.nodes.filter((node) => node.kind === "point" && !node.group);
  return level.nodes.find((node) => node.kind === "end")?.id ?? points.at(-1)?.id;
}

function collected(parent: string | null, level: Level, graph: InstanceType<typeof graphlib.Graph>, inner: Map<string, Placed>, back: Level["edges"]): Placed {
  const boxes = new Map<string, Box>();
  const routes = new Map<string, Point[]>();
  const labels = new Map<string, Point>();
  const shift = parent === null ? 0 : HEAD;
  for (const node of level.nodes) {
    const { x, y, width, height } = graph.node(node.id) as Box;
    boxes.set(node.id, { x: x - width / 2, y: y - height / 2 + shift, width, height });
  }
  for (const { key, from, to } of level.edges) {
    const drawn = graph.edge({ v: from, w: to, name: key }) as { points: Point[]; x?: number; y?: number } | undefined;
    if (!drawn) continue;
    const points = drawn.points.slice(1, -1).map((point) => ({ x: point.x, y: point.y + shift }));
    routes.set(key, [exitOf(boxes.get(from)), ...points, entryOf(boxes.get(to))]);
    if (drawn.x !== undefined && drawn.y !== undefined) labels.set(key, { x: drawn.x, y: drawn.y + shift });
  }
  const size = graph.graph() as { width?: number; height?: number };
  let width = size.width ?? 0;
  const height = (size.height ?? 0) + shift;
  for (const { edge, key, from, to } of back) {
    const room = edge.label ? labelWidth(edge.label) / 2 : 0;
    const x = width + room;
    const [source, target] = [boxes.get(from), boxes.get(to)];
    if (!source || !target) continue;
    const ys: [number, number] = [source.y + source.height / 2, target.y + target.height / 2];
    routes.set(key, [{ x: NaN, y: 0 }, { x, y: ys[0] }, { x, y: ys[1] }, { x: NaN, y: 0 }]);
    if (edge.label) labels.set(key, { x, y: (ys[0] + ys[1]) / 2 });
    width = x + room + LANE;
  }
  const least = parent === null ? 0 : wide(level.nodes[0]?.label ?? "", 0) + 150;
  const spare = Math.max(0, least - width) / 2;
  if (spare > 0) {
    for (const box of boxes.values()) box.x += spare;
    for (const points of routes.values()) for (const point of points) point.x += spare;
    for (const point of labels.values()) point.x += spare;
    width = least;
  }
  for (const [id, placed] of inner) {
    const box = boxes.get(id);
    if (!box) continue;
    for (const [child, one] of placed.boxes) boxes.set(child, { ...one, x: one.x + box.x, y: one.y + box.y });
    for (const [key, points] of placed.routes) routes.set(key, points.map((point) => ({ x: point.x + box.x, y: point.y + box.y })));
    for (const [key, point] of placed.labels) labels.set(key, { x: point.x + box.x, y: point.y + box.y });
  }
  return { width, height, boxes, routes, labels };
}

/** The bottom and the top of a box; for a group the line goes on inside, from the part that it really belongs to. */
const exitOf = (box: Box | undefined): Point => ({ x: box ? box.x + box.width / 2 : 0, y: box ? box.y + box.height : 0 });
const entryOf = (box: Box | undefined): Point => ({ x: box ? box.x + box.width / 2 : 0, y: box ? box.y : 0 });

const isLane = (route: Point[] | undefined) => route !== undefined && Number.isNaN(route[0]?.x);

/** A route from end to end: down from the source, across the border of its group, …, into the target. */
function joined(source: Box | undefined, target: Box | undefined, route: Point[]): Point[] {
  if (!source || !target) return [];
  if (isLane(route)) {
    const [from, to] = [route[1] as Point, route[2] as Point];
    const [sourceY, targetY] = [source.y + source.height / 2, target.y + target.height / 2];
    return [{ x: source.x + source.width, y: sourceY }, { x: from.x, y: sourceY }, { x: to.x, y: targetY }, { x: target.x + target.width, y: targetY }];
  }
  const [start, end] = [exitOf(source), entryOf(target)];
  const inside = route.slice(1, -1);
  const border = route[0];
  const entry = route.at(-1);
  return [
    start,
    ...(border && border.y > start.y + 1 ? [{ x: start.x, y: border.y }] : []),
    ...inside,
    ...(entry && entry.y < end.y - 1 ? [{ x: end.x, y: entry.y }] : []),
    end,
  ];
}

const round = (value: number) => Math.round(value * 10) / 10;

/** Through all points, upright in each of them. */
export function curved(points: Point[]): string {
  const [first, ...rest] = points;
  if (!first) return "";
  let path = `M${round(first.x)} ${round(first.y)}`;
  let last = first;
  for (const point of rest) {
    const middle = round((last.y + point.y) / 2);
    path += Math.abs(point.x - last.x) < 1 ? `L${round(point.x)} ${round(point.y)}` : `C${round(last.x)} ${middle} ${round(point.x)} ${middle} ${round(point.x)} ${round(point.y)}`;
    last = point;
  }
  return path;
}

/** Out to the side, up, and back in, with round corners. */
function angular(points: Point[]): string {
  const [a, b, c, d] = points;
  if (!a || !b || !c || !d) return "";
  const turn = Math.sign(c.y - b.y) * Math.min(8, Math.abs(c.y - b.y) / 2);
  const r = Math.min(8, b.x - a.x);
  return `M${round(a.x)} ${round(a.y)}L${round(b.x - r)} ${round(b.y)}Q${round(b.x)} ${round(b.y)} ${round(b.x)} ${round(b.y + turn)}` +
    `L${round(c.x)} ${round(c.y - turn)}Q${round(c.x)} ${round(c.y)} ${round(c.x - r)} ${round(c.y)}L${round(d.x)} ${round(d.y)}`;
}
