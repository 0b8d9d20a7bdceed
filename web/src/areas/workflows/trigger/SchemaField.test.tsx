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
const add = () => fireEvent.click(screen.getByRole("button", { name: /^Add/ }));

afterEach(cleanup);

describe("a form made from a schema", () => {
  it("goes as deep as one likes where the schema leads back to itself", () => {
    shown({ name: { type: "string" }, parent: { $ref: "#" } }, { required: ["name"] });
    expect(screen.getAllByLabelText(/^name/)).toHaveLength(2);
    add();
    expect(screen.getAllByLabelText(/^name/)).toHaveLength(3);
    fireEvent.change(screen.getAllByLabelText(/^name/)[2]!, { target: { value: "Ada" } });
    expect(sent).toEqual({ parent: { parent: { name: "Ada" } } });
  });

  it("ends as JSON where the schema leads back to itself without an end", () => {
    shown({ next: { $ref: "#" } }, { required: ["next"] });
    expect(screen.getAllByRole("textbox")).toHaveLength(1);
  });

  it("asks for nothing in an object that may be left out", () => {
    shown({ to: { type: "object", required: ["city"], properties: { city: { type: "string" }, land: { default: "IT" } } } });
    expect(sent).toEqual({});
    expect(screen.getByRole<HTMLFormElement>("form").checkValidity()).toBe(true);
    fireEvent.change(screen.getByLabelText(/^city/), { target: { value: "Turin" } });
    expect(sent).toEqual({ to: { city: "Turin", land: "IT" } });
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
