import { expect, it } from "vitest";

import { boundsOf } from "./period";

const now = Date.parse("2026-03-01T12:00:00Z");
const of = (query: string) => boundsOf(new URLSearchParams(query), now);

it("is all of time unless said otherwise", () => {
  expect(of("")).toEqual({});
  expect(of("period=nonsense")).toEqual({});
});
it("counts back from now", () => {
  expect(of("period=24h")).toEqual({ since: "2026-02-28T12:00:00.000Z" });
});
it("takes what was chosen, and leaves out what is no date", () => {
  expect(of("period=custom&from=2026-01-01T00:00Z&to=")).toEqual({ since: "2026-01-01T00:00:00.000Z" });
  expect(of("period=custom&from=x")).toEqual({});
});
