import { describe, expect, it } from "vitest";

import { barOf, marks, markWords, spanOf } from "./scale";
import type { Placed } from "./steps";

const ran = (began: number | null, ended: number | null) => ({ began, ended }) as Placed;

describe("the span", () => {
  it("goes from the first start to the last end", () => {
    const span = spanOf([ran(1000, 3000), ran(2000, 2000), ran(null, null)], 99_000);
    expect(span).toEqual({ from: 1000, to: 3000 });
  });

  it("grows past now while something runs, and not at every look", () => {
    const at = (now: number) => spanOf([ran(1000, null)], now).to;
    for (const now of [1000, 1001, 5000, 100_000]) expect(at(now)).toBeGreaterThanOrEqual(now);
    expect(at(100_000)).toBeLessThan(104_000);
    expect(new Set([60_000, 60_250, 60_500, 60_750].map(at)).size).toBeLessThan(3);
  });

  it("is never empty", () => {
    expect(spanOf([], 7)).toEqual({ from: 7, to: 8 });
    expect(spanOf([ran(1000, 1000)], 9000)).toEqual({ from: 1000, to: 1001 });
  });
});

describe("marks", () => {
  it("are round and not too close", () => {
    expect(marks(0, 1000, 180)).toEqual([0, 200, 400, 600, 800, 1000]);
    expect(marks(61_000, 125_000, 14_000)).toEqual([75_000, 90_000, 105_000, 120_000]);
  });

  it("are words that fit", () => {
    expect([0, 250, 1500, 125_000, 3_725_000].map(markWords)).toEqual(["0", "250 ms", "1.5 s", "2:05", "1:02:05"]);
  });
});

describe("a bar", () => {
  it("stays within the line", () => {
    expect(barOf(0, 10_000, { from: 1000, to: 3000 })).toEqual({ left: "0%", width: "100%" });
    expect(barOf(2000, 2500, { from: 1000, to: 3000 })).toEqual({ left: "50%", width: "25%" });
  });
});
