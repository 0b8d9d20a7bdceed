import { describe, expect, it } from "vitest";

import { eventTone, eventWords, inOneLine } from "./words";

describe("fields in one line", () => {
  it("show strings bare and the rest as JSON", () => {
    expect(inOneLine({ task: "/do/0/x", ms: 12, with: { a: [1] } })).toBe('task=/do/0/x ms=12 with={"a":[1]}');
    expect(inOneLine(null)).toBe("");
  });

  it("are cut when they are long", () => {
    expect(inOneLine({ text: "x".repeat(1000) })).toHaveLength(301);
  });
});

describe("events", () => {
  it("that nobody foresaw are shown by their type", () => {
    expect(eventWords("com.example.shipped")).toBe("com.example.shipped");
    expect(eventTone("com.example.shipped")).toBe("still");
  });

  it("tell failure from success", () => {
    expect([eventTone("task.faulted"), eventTone("task.completed"), eventTone("task.retried")]).toEqual(["bad", "ok", "warn"]);
  });
});
