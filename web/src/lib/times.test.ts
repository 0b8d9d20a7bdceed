import { describe, expect, it } from "vitest";

import { duration, relative } from "./times";

const NOW = Date.parse("2026-06-01T12:00:00Z");

describe("times in words", () => {
  it.each([
    ["2026-06-01T11:59:55Z", "just now"],
    ["2026-06-01T11:59:15Z", "45 seconds ago"],
    ["2026-06-01T11:58:00Z", "2 minutes ago"],
    ["2026-06-01T09:00:00Z", "3 hours ago"],
    ["2026-05-31T11:00:00Z", "yesterday"],
    ["2026-06-01T12:05:00Z", "in 5 minutes"],
  ])("%s is %s", (at, words) => expect(relative(at, NOW)).toBe(words));

  it.each([
    [0, "0 ms"],
    [999, "999 ms"],
    [1240, "1.2 s"],
    [59_400, "59 s"],
    [200_000, "3 min 20 s"],
    [7_200_000, "2 h"],
    [93_600_000, "1 d 2 h"],
  ])("%d ms last %s", (ms, words) => expect(duration(ms)).toBe(words));
});
