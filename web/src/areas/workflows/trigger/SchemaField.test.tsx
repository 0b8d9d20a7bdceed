// @vitest-environment jsdom
import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { useState } from "react";
import { afterEach, describe, expect, it } from "vitest";

import { type Schema, startingValue, type Value } from "./form";
import { Members } from "./SchemaField";

let sent: Value;

function Form({ schema }: { schema: Schema }) {
  const [value, setValue] = useState(() => startingValue(schema, schema));
  sent = value;
  return <form aria-label="form"><Members schema={schema} root={schema} required value={value} onChange={setValue} /></form>;
}

const shown = (properties: Record<string, Schema>, more: Schema = {}) => render(<Form schema={{ type: "object", properties, ...more }} />);
const add = () => fireEvent.click(screen.getByRole("button", { name: "Add" }));

afterEach(cleanup);

describe("a form made from a schema", () => {
  it("ends where the schema leads back to itself, and goes on as JSON", () => {
    shown({ name: { type: "string" }, parent: { $ref: "#" } });
    expect(screen.getAllByLabelText(/^name/)).toHaveLength(5);
    expect(screen.getAllByLabelText(/^parent/).filter((one) => one.tagName === "TEXTAREA")).toHaveLength(1);
  });

  it("is not sent with a text that is no JSON", () => {
    shown({ anything: {} });
    const field = screen.getByLabelText(/^anything/);
    fireEvent.change(field, { target: { value: '{"a": 1' } });
    expect(screen.getByRole<HTMLFormElement>("form").checkValidity()).toBe(false);
    fireEvent.change(field, { target: { value: '{"a": 1}' } });
    expect(screen.getByRole<HTMLFormElement>("form").checkValidity()).toBe(true);
    expect(sent).toEqual({ anything: { a: 1 } });
  });

  it("adds to a list what its items begin with", () => {
    shown({ flags: { type: "array", items: { type: "boolean" } } });
    add();
    expect(sent).toEqual({ flags: [false] });
  });

  it("takes the item out that was meant, with what was typed into it", () => {
    shown({ list: { type: "array", items: {} } });
    add();
    add();
    fireEvent.change(screen.getByLabelText("list 1"), { target: { value: '"first"' } });
    fireEvent.change(screen.getByLabelText("list 2"), { target: { value: '"second"' } });
    fireEvent.click(screen.getByRole("button", { name: "Remove list 1" }));
    expect(sent).toEqual({ list: ["second"] });
    expect(screen.getByLabelText<HTMLTextAreaElement>("list 1").value).toBe('"second"');
  });
});
