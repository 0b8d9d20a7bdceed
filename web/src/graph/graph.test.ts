import { describe, expect, it } from "vitest";

import { layoutOf } from "./layout";
import { type Flow, type FlowNode, isTask, nameOf, outlineOf, taskAtLine } from "./model";

const node = (id: string, kind: string, reference: string, given: Partial<FlowNode> = {}): FlowNode => ({
  id, kind, label: given.label ?? id, reference, parent: null, group: false, line: null, end_line: null, ...given,
});
const way = (source: string, target: string, label = "", dashed = false) => ({ source, target, label, dashed });

/** A list of as many tasks, inside a `for`. */
function loop(tasks: number): Flow {
  const inside = Array.from({ length: tasks }, (_, index) =>
    node(`t${index}`, "set", `/do/0/each/do/${index}/task${index}`, { parent: "g1", line: 10 + index * 2, end_line: 11 + index * 2 }));
  return {
    nodes: [
      node("begin", "start", ""),
      node("g1", "for", "/do/0/each", { group: true, label: "for: each", line: 8, end_line: 10 + tasks * 2 }),
      node("l", "loop", "/do/0/each", { parent: "g1", label: "each item in .items" }),
      node("out", "point", "/do/0/each", { parent: "g1", label: "" }),
      ...inside,
      node("finish", "end", ""),
    ],
    edges: [
      way("begin", "l"),
      way("l", "t0", "each"),
      ...inside.slice(1).map((_, index) => way(`t${index}`, `t${index + 1}`)),
      way(`t${tasks - 1}`, "l"),
      way("l", "out", "done"),
      way("out", "finish"),
    ],
  };
}

describe("the layout of a graph", () => {
  it("keeps what belongs to a group inside it, and nothing on top of anything else", () => {
    const flow = loop(4);
    const { boxes } = layoutOf(flow);
    const group = boxes.get("g1")!;
    const inside = flow.nodes.filter((one) => one.parent === "g1").map((one) => boxes.get(one.id)!);
    for (const box of inside) {
      expect(box.x).toBeGreaterThanOrEqual(group.x);
      expect(box.y).toBeGreaterThanOrEqual(group.y + 28);
      expect(box.x + box.width).toBeLessThanOrEqual(group.x + group.width);
      expect(box.y + box.height).toBeLessThanOrEqual(group.y + group.height);
      for (const other of inside) {
        const apart = box === other || box.x >= other.x + other.width || other.x >= box.x + box.width || box.y >= other.y + other.height || other.y >= box.y + box.height;
        expect(apart).toBe(true);
      }
    }
  });

  it("goes downwards in the order of the definition, the ways out last", () => {
    const { boxes } = layoutOf(loop(3));
    const tops = ["begin", "g1", "l", "t0", "t1", "t2", "out", "finish"].map((id) => boxes.get(id)!.y);
    expect(tops).toEqual([...tops].sort((a, b) => a - b));
  });

  it("leads back beside the tasks, not through them", () => {
    const flow = loop(3);
    const { boxes, lines } = layoutOf(flow);
    const back = lines[flow.edges.findIndex((edge) => edge.source === "t2" && edge.target === "l")]!;
    const xs = [...back.path.matchAll(/[ML]([\d.]+) /g)].map((match) => Number(match[1]));
    expect(Math.max(...xs)).toBeGreaterThan(Math.max(...["t0", "t1"].map((id) => boxes.get(id)!.x + boxes.get(id)!.width)));
  });

  it("has a line for every way, also of a large graph", () => {
    const flow = loop(300);
    const { lines } = layoutOf(flow);
    expect(lines.filter((line) => line.path.startsWith("M")).length).toBe(flow.edges.length);
  });
});

describe("the parts of a graph", () => {
  it("are named as in the definition", () => {
    expect(nameOf(node("n", "set", "/do/0/a~1b~0c"))).toBe("a/b~c");
  });

  it("are an outline of tasks alone", () => {
    const outline = outlineOf(loop(2));
    expect(outline.map((item) => nameOf(item.node))).toEqual(["each"]);
    expect(outline[0]!.inside.map((item) => nameOf(item.node))).toEqual(["task0", "task1"]);
  });

  it("are found by the line of the text, the innermost first", () => {
    const flow = loop(2);
    expect(taskAtLine(flow, 9)).toBe("/do/0/each");
    expect(taskAtLine(flow, 13)).toBe("/do/0/each/do/1/task1");
    expect(taskAtLine(flow, 1)).toBeNull();
    expect(flow.nodes.filter(isTask)).toHaveLength(3);
  });
});
