import { describe, expect, it } from "vitest";

import { sorted, successRate, totals } from "./totals";

const row = (workflow_name: string, executions: Record<string, number>, status = "active") => ({ workflow_id: workflow_name, workflow_name, status, executions, log_counts: {} });

describe("the success rate", () => {
  it("is of those that completed or failed", () => {
    expect(successRate({ completed: 3, failed: 1, cancelled: 9, running: 5 })).toBe(75);
    expect(successRate({ running: 1 })).toBeNull();
  });

  it("never says all when one failed, nor none when one completed", () => {
    expect(successRate({ completed: 9999, failed: 1 })).toBe(99);
    expect(successRate({ completed: 1, failed: 9999 })).toBe(1);
  });
});

describe("the dashboard", () => {
  it("sums over workflows", () => {
    expect(totals([row("a", { completed: 1, failed: 1 }), row("b", { completed: 2, running: 3 }, "draft")])).toMatchObject({ active: 1, completed: 3, failed: 1, running: 3, rate: 75 });
  });

  it("sorts by what is asked for, and what never ran last", () => {
    const rows = [row("B", {}), row("a", { failed: 2, completed: 2 }), row("c", { failed: 1 })];
    expect(sorted(rows, "rate", false).map((one) => one.workflow_name)).toEqual(["c", "a", "B"]);
    expect(sorted(rows, "failed", true).map((one) => one.workflow_name)).toEqual(["a", "c", "B"]);
    expect(sorted(rows, "name", false).map((one) => one.workflow_name)).toEqual(["a", "B", "c"]);
  });
});
