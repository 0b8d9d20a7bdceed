import { describe, expect, it } from "vitest";

import { choicesOf, hasForm, kindOf, parsedJson, resolved, type Schema, startingValue, typed, withMember } from "./form";

const ORDER: Schema = {
  type: "object",
  required: ["sku", "address"],
  properties: {
    sku: { type: "string" },
    quantity: { type: "integer", default: 3 },
    currency: { enum: ["EUR", "USD"] },
    address: { $ref: "#/$defs/address" },
    tags: { type: "array", items: { type: "string" } },
    anything: {},
  },
  $defs: { address: { type: "object", required: ["city"], properties: { city: { type: "string", default: "Turin" } } } },
};

describe("a form from a schema", () => {
  it("has a control for each kind of value", () => {
    const kinds = Object.fromEntries(Object.entries(ORDER.properties!).map(([name, member]) => [name, kindOf(resolved(member, ORDER))]));
    expect(kinds).toEqual({ sku: "string", quantity: "integer", currency: "choice", address: "object", tags: "list", anything: "json" });
  });

  it("begins with the defaults, and with nothing else", () => {
    expect(startingValue(ORDER, ORDER)).toEqual({ quantity: 3, address: { city: "Turin" } });
  });

  it("begins with what its untouched fields say where an answer is asked for", () => {
    const schema: Schema = {
      type: "object",
      required: ["sure", "tags", "note"],
      properties: { sure: { type: "boolean" }, maybe: { type: "boolean" }, tags: { type: "array", items: {} }, note: { type: ["string", "null"] } },
    };
    expect(startingValue(schema, schema)).toEqual({ sure: false, tags: [], note: null });
    expect(startingValue({ type: "object", properties: { n: { default: 1 } } }, schema)).toEqual({ n: 1 });
  });

  it("lets one choose between constants by their titles", () => {
    const schema: Schema = { oneOf: [{ const: "a", title: "First" }, { const: 2 }] };
    expect(kindOf(schema)).toBe("choice");
    expect(choicesOf(schema)).toEqual([{ value: "a", label: "First" }, { value: 2, label: "2" }]);
    expect(kindOf({ oneOf: [{ type: "string" }, { const: 2 }] })).toBe("json");
  });

  it("is offered for objects with known members only", () => {
    expect(hasForm(ORDER)).toBe(true);
    expect([hasForm(true), hasForm(null), hasForm({ type: "string" }), hasForm({ type: "object" })]).toEqual([false, false, false, false]);
  });

  it("ends where a schema leads back to itself", () => {
    const endless: Schema = { type: "object", required: ["next"], properties: { next: { $ref: "#" } } };
    expect(startingValue(endless, endless)).toBeDefined();
    expect(resolved({ $ref: "#/$defs/a" }, { $defs: { a: { $ref: "#/$defs/a" } } })).toEqual({ $ref: "#/$defs/a" });
  });

  it("leaves out what was not filled in", () => {
    expect(withMember({ a: 1, b: 2 }, "b", undefined)).toEqual({ a: 1 });
    expect(typed("", "string")).toBeUndefined();
    expect(typed("12", "integer")).toBe(12);
    expect(typed("12", "string")).toBe("12");
  });

  it("takes an empty text for an empty input, and says what is wrong with another", () => {
    expect(parsedJson("  ")).toEqual({ value: {} });
    expect(parsedJson('{"a": [1]}')).toEqual({ value: { a: [1] } });
    expect(parsedJson("{a: 1}")).toHaveProperty("error");
  });
});
