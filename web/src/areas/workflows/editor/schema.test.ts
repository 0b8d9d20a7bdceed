import { describe, expect, it } from "vitest";

import { membersAround, placeAt, tokensOf } from "./place";
import { meaningAt, offersAt, type Schema } from "./schema";

const TASKS: Schema = { type: "array", items: { type: "object", additionalProperties: { $ref: "#/$defs/task" } } };
const ROOT: Schema = {
  type: "object",
  properties: { document: { description: "What it is.", $ref: "#/$defs/document" }, do: { description: "The tasks.", $ref: "#/$defs/tasks" } },
  required: ["document", "do"],
  $defs: {
    document: { type: "object", properties: { dsl: { type: "string" }, name: { type: "string", description: "Its name." } }, additionalProperties: false },
    tasks: TASKS,
    task: { anyOf: [{ $ref: "#/$defs/http" }, { $ref: "#/$defs/grpc" }, { $ref: "#/$defs/wait" }, { $ref: "#/$defs/loop" }] },
    http: {
      type: "object", required: ["call", "with"], additionalProperties: false, description: "A request over HTTP.",
      properties: { call: { type: "string", enum: ["http"] }, with: { type: "object", properties: { method: { type: "string", enum: ["get", "post"] }, endpoint: { type: "string" } } }, then: { type: "string" } },
    },
    grpc: { type: "object", required: ["call", "with"], additionalProperties: false, properties: { call: { type: "string", enum: ["grpc"] }, with: { type: "object", properties: { proto: { type: "string" } } } } },
    wait: { type: "object", required: ["wait"], additionalProperties: false, properties: { wait: { type: "object", properties: { seconds: { type: "integer" } } }, then: { type: "string" } } },
    loop: { type: "object", required: ["for", "do"], additionalProperties: false, properties: { for: { type: "object" }, do: { $ref: "#/$defs/tasks" } } },
  },
};

/** The text with the cursor at `|`. */
function at(text: string) {
  const before = text.slice(0, text.indexOf("|")).split("\n");
  const lines = text.replace("|", "").split("\n");
  const line = before.length - 1;
  const place = placeAt(lines, line, before[line]!.length);
  return { lines, line, place, path: place?.path.map((step) => step.name ?? "-").join("/") };
}
const offered = (text: string) => {
  const { lines, line, place } = at(text);
  return place ? offersAt(ROOT, lines, line, place).map((offer) => offer.label) : null;
};

describe("where one is in a text", () => {
  it("follows indentation, through lists", () => {
    expect(at("do:\n  - a:\n      call: http\n      with:\n        |").path).toBe("do/-/a/with");
    expect(at("do:\n- a:\n    call: http\n- b:\n    |").path).toBe("do/-/b");
    expect(at("do:\n  - a: {set: {}}\n  - |").path).toBe("do/-");
    expect(at("do:\n  - a:\n      call: ht|").place).toMatchObject({ kind: "value", name: "call", written: "ht" });
    expect(at("|").path).toBe("");
  });

  it("is nowhere within texts, comments and flow style", () => {
    expect(at("do:\n  - a:\n      run:\n        shell:\n          command: |x".replace("|x", "|")).place).not.toBeNull();
    expect(placeAt(["code: |", "  key"], 1, 5)).toBeNull();
    expect(at("document: { na|").place).toBeNull();
    expect(at("# do|").place).toBeNull();
  });

  it("knows the members around, of this mapping only", () => {
    const lines = "do:\n  - a:\n      call: http\n\n      then: end\n  - b:\n      wait: {}".split("\n");
    expect([...membersAround(lines, 3, 6)]).toEqual([["call", "http"], ["then", "end"]]);
    expect(tokensOf("  - - x: 1").map((token) => token.column)).toEqual([2, 4, 6]);
    expect(tokensOf("'a b': 1")[0]?.name).toBe("a b");
  });
});

describe("what could be written", () => {
  it("are the members that are not there yet", () => {
    expect(offered("|")).toEqual(["document", "do"]);
    expect(offered("document:\n  dsl: '1.0.3'\n  |")).toEqual(["name"]);
  });

  it("are all kinds of tasks at first, then what belongs to the one begun", () => {
    expect(offered("do:\n  - a:\n      |")).toEqual(["call", "with", "then", "wait", "for", "do"]);
    expect(offered("do:\n  - a:\n      wait: {}\n      |")).toEqual(["then"]);
    expect(offered("do:\n  - a:\n      call: http\n      with:\n        |")).toEqual(["method", "endpoint"]);
    expect(offered("do:\n  - a:\n      call: grpc\n      with:\n        |")).toEqual(["proto"]);
    expect(offered("do:\n  - a:\n      for: {}\n      do:\n        - b:\n            call: http\n            |")).toEqual(["with", "then"]);
  });

  it("are the values that are allowed", () => {
    expect(offered("do:\n  - a:\n      call: |")).toEqual(["http", "grpc"]);
    expect(offered("do:\n  - a:\n      call: http\n      with:\n        method: p|")).toEqual(["get", "post"]);
  });

  it("are the tasks that one may go to", () => {
    const tasks = "do:\n  - a:\n      wait: {}\n      then: |\n  - b:\n      do:\n        - inner:\n            wait: {}\n  - c:\n      wait: {}\noutput: {}";
    expect(offered(tasks)).toEqual(["b", "c", "continue", "exit", "end"]);
    expect(offered("do:\n  - a:\n      switch:\n        - cheap:\n            then: |\n        - dear:\n            then: b\n  - b:\n      wait: {}")).toEqual(["a", "b", "continue", "exit", "end"]);
  });

  it("has a meaning", () => {
    expect(meaningAt(ROOT, ["document:", "  name: x"], 1, at("document:\n  |").place!.path, 2, "name")).toBe("Its name.");
    expect(meaningAt(ROOT, ["do:"], 0, [], 0, "do")).toBe("The tasks.");
  });
});
