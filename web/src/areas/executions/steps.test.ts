import { describe, expect, it } from "vitest";

import type { Step } from "./data";
import { merged, nodeStates, pagesFor, placed, stepFor, touched } from "./steps";

const step = (sequence_num: number, reference: string, rest: Partial<Step> = {}): Step => ({
  id: String(sequence_num), execution_id: "e", step_name: reference.split("/").at(-1) ?? "", step_type: "set", reference, sequence_num,
  attempt: 1, status: "completed", input_data: null, output_data: null, error_message: null, started_at: null, completed_at: null, duration_ms: null, metadata: {}, ...rest,
});

const LOOP = [
  step(1, "/do/0/rows", { step_type: "for", status: "running" }),
  step(2, "/do/0/rows/do/0/put"),
  step(3, "/do/0/rows/do/0/put", { status: "failed" }),
  step(4, "/do/0/rows/do/0/put", { attempt: 2, status: "running" }),
  step(5, "/do/0/rows/do/0/put/deeper/do/0/x"),
];

describe("steps", () => {
  it("stand in the last one before them whose reference begins theirs", () => {
    expect(placed(LOOP).map(({ depth }) => depth)).toEqual([0, 1, 1, 1, 2]);
  });

  it("are not in one whose name merely begins the same", () => {
    expect(placed([step(1, "/do/0/row"), step(2, "/do/0/rows")]).map(({ depth }) => depth)).toEqual([0, 0]);
  });

  it("count rounds and attempts apart", () => {
    expect(placed(LOOP).map(({ run }) => run)).toEqual([1, 1, 2, 2, 1]);
    expect(nodeStates(placed(LOOP)).get("/do/0/rows/do/0/put")).toEqual({ status: "running", note: "2×, attempt 2" });
  });

  it("know since when a retry waited", () => {
    const failed = step(1, "/do/0/x", { status: "failed", completed_at: "2026-01-01T00:00:01Z" });
    expect(placed([failed, step(2, "/do/0/x", { attempt: 2 })])[1]?.waitedFrom).toBe(Date.parse("2026-01-01T00:00:01Z"));
  });

  it("stay the same thing while others come, so that they are not drawn anew", () => {
    const before = placed(LOOP.slice(0, 3));
    expect(placed(LOOP).slice(0, 3).every((one, index) => one === before[index])).toBe(true);
  });

  it("are replaced by their number", () => {
    expect(merged([step(1, "/a", { status: "running" })], [step(1, "/a"), step(2, "/b")]).map((one) => one.status)).toEqual(["completed", "completed"]);
  });

  it("are found by number, or by task: its last run", () => {
    expect(stepFor(LOOP, "3")?.sequence_num).toBe(3);
    expect(stepFor(LOOP, "/do/0/rows/do/0/put")?.sequence_num).toBe(4);
    expect(stepFor(LOOP, "99")).toBeNull();
  });
});

describe("what is read again", () => {
  it("are open steps of the tasks that something happened to", () => {
    expect(touched(LOOP, new Set([1, 4]), new Set(["/do/0/rows/do/0/put"]))).toEqual([4]);
    expect(touched(LOOP, new Set([1, 4]), "all")).toEqual([1, 4]);
  });

  it("takes as few pages as will do, and no more of them than is needed", () => {
    expect(pagesFor([1, 5000, 5098, 5099, 5101], 100)).toEqual([{ after: 0, size: 1 }, { after: 4999, size: 100 }, { after: 5100, size: 1 }]);
    expect(pagesFor([], 100)).toEqual([]);
  });
});
