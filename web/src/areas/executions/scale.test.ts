import { describe, expect, it } from "vitest";

import { barOf, marks, markWords, spanOf } from "./scale";
import type { Placed } from "./steps";

const ran = (started_at: string | null, completed_at: string | null) => ({ step: { started_at, completed_at } }) as Placed;

describe("the span", () => {
  it("goes from the first start to the last end", () => {
    const span = spanOf([ran("1970-01-01T00:00:01Z", "1970-01-01T00:00:03Z"), ran("1970-01-01T00:00:02Z", "1970-01-01T00:00:02Z")], 99_000);
    expect(span).toEqual({ from: 1000, to: 3000 });
  });

  it("grows to now while something runs", () => {
    expect(spanOf([ran("1970-01-01T00:00:01Z", null)], 5000)).toEqual({ from: 1000, to: 5000 });
  });

  it("is never empty", () => {
    expect(spanOf([], 7)).toEqual({ from: 7, to: 8 });
    expect(spanOf([ran("1970-01-01T00:00:01Z", "1970-01-01T00:00:01Z")], 9000)).toEqual({ from: 1000, to: 1001 });
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
