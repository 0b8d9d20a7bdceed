import { describe, expect, it } from "vitest";

import { dayOf, runsAfter, scheduleWords, STACK, stacked, successRate } from "./day";

const hour = (counts: Record<string, number>) => ({ hour: "2026-01-01T00:00:00Z", counts });

describe("the numbers of a day", () => {
  it("count what ended well and what failed", () => {
    const day = dayOf([hour({ completed: 3, failed: 1 }), hour({ completed: 1, running: 2 })]);
    expect(day).toEqual({ total: 7, completed: 4, failed: 1 });
    expect(successRate(day)).toBe(80);
  });

  it("never say a hundred when something failed, nor anything when nothing ended", () => {
    expect(successRate({ total: 100_001, completed: 100_000, failed: 1 })).toBe(99.9);
    expect(successRate({ total: 2, completed: 0, failed: 0 })).toBeNull();
    expect(successRate({ total: 2, completed: 2, failed: 0 })).toBe(100);
  });

  it("are stacked, one on the other", () => {
    const series = stacked([hour({ completed: 2, failed: 1, cancelled: 4 })]);
    expect(series.map((one) => one[0])).toEqual([2, 3, 7, 7, 7]);
    expect(series).toHaveLength(STACK.length);
  });

  it("name the runs that are still to come", () => {
    const runs = ["2026-01-01T06:00:00Z", "2026-01-01T07:00:00Z", "2026-01-01T08:00:00Z"];
    expect(runsAfter(runs, "2026-01-01T07:00:00+00:00")).toEqual(runs.slice(2));
    expect(runsAfter(runs, null, Date.parse("2026-01-01T06:30:00Z"))).toEqual(runs.slice(1));
  });

  it("has schedules in words", () => {
    expect(scheduleWords({ kind: "every", cron: null, seconds: 900, timezone: "UTC", next_runs: [] })).toBe("Every 15 min");
    expect(scheduleWords({ kind: "cron", cron: "0 6 * * 1", seconds: null, timezone: "Europe/Rome", next_runs: [] })).toBe("By cron 0 6 * * 1 (Europe/Rome)");
  });
});
