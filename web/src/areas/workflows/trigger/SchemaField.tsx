/** One value of an input, asked for as its schema says. */
import { useRef, useState } from "react";

import { Button, Checkbox, Field, IconButton, Select, TextArea } from "@/components";
import { choicesOf, DEEPEST, FOLDED, type Json, kindOf, mayBeNull, parsedJson, resolved, type Schema, startingValue, typed, type Value, withMember } from "./form";
import styles from "./Trigger.module.css";

interface FieldProps {
  schema: Schema | boolean | undefined;
  root: Schema;
  name: string;
  required: boolean;
  /** How far in. */
  depth: number;
  value: Value;
  onChange: (value: Value) => void;
}

const INPUTS: Record<string, string> = { email: "email", uri: "url", date: "date", "date-time": "text", password: "password" };

export function SchemaField(props: FieldProps) {
  const { root, name, required, depth, value, onChange } = props;
  const schema = resolved(props.schema, root);
  const wanted = kindOf(schema);
  const kind = depth > DEEPEST && (wanted === "object" || wanted === "list") ? "json" : wanted;
  const about = { label: schema.title || name, hint: schema.description, optional: !required };
  switch (kind) {
    case "boolean":
      return (
        <div>
          <Checkbox label={<>{schema.title || name}{schema.description && <span className="muted"> · {schema.description}</span>}</>} checked={value === true} onChange={(event) => onChange(event.target.checked)} />
        </div>
      );
    case "choice":
      return <Choice {...about} schema={schema} required={required} value={value} onChange={onChange} />;
    case "object":
      return <Members schema={schema} root={root} depth={depth} legend={about.label} hint={schema.description} required={required} value={value} onChange={onChange} />;
    case "list":
      return <Items {...props} schema={schema} />;
    case "json":
      return <JsonField {...about} required={required} value={value} onChange={onChange} />;
    default: {
      const number = kind !== "string";
      const nothing = required && mayBeNull(schema) ? null : undefined;
      return (
        <Field {...about} required={required && nothing === undefined} value={value === undefined || value === null ? "" : String(value)}
          type={number ? "number" : (INPUTS[schema.format ?? ""] ?? "text")} placeholder={placeholder(schema)}
          min={schema.minimum ?? schema.exclusiveMinimum} max={schema.maximum ?? schema.exclusiveMaximum} step={kind === "integer" ? 1 : number ? "any" : undefined}
          minLength={schema.minLength} maxLength={schema.maxLength} pattern={number ? undefined : pattern(schema.pattern)} autoComplete="off"
          onChange={(event) => onChange(typed(event.target.value, kind) ?? nothing)} />
      );
    }
  }
}

function placeholder(schema: Schema): string | undefined {
  if (schema.examples?.[0] !== undefined) return String(schema.examples[0]);
  return schema.format === "date-time" ? "2030-01-31T09:00:00Z" : undefined;
}

/** HTML's patterns are about the whole text; a schema's are about any part of it. One that browsers do not know is left to the server. */
function pattern(given: string | undefined): string | undefined {
  if (!given) return undefined;
  try {
    const whole = `(?:.*(?:${given}).*)`;
    new RegExp(whole, "v");
    return whole;
  } catch {
    return undefined;
  }
}

function Choice({ schema, label, hint, optional, required, value, onChange }: { schema: Schema; label: string; hint: string | undefined; optional: boolean; required: boolean; value: Value; onChange: (value: Value) => void }) {
  const choices = choicesOf(schema) ?? [];
  const at = choices.findIndex((one) => one.value === value);
  return (
    <Select {...{ label, hint, optional }} required={required} value={at < 0 ? "" : String(at)}
      onChange={(event) => onChange(event.target.value === "" ? undefined : choices[Number(event.target.value)]?.value)}>
      <option value="">{required ? "Choose one" : "–"}</option>
      {choices.map((one, index) => <option key={index} value={index}>{one.label}</option>)}
    </Select>
  );
}

export function Members({ schema, root, depth = 0, legend, hint, required, value, onChange }: { schema: Schema; root: Schema; depth?: number; legend?: string | undefined; hint?: string | undefined; required: boolean; value: Value; onChange: (value: Value) => void }) {
  const members = typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
  // An object that may be left out asks for its members only once one of them is there.
  const inUse = required || value !== undefined;
  const foldable = !required && depth >= FOLDED;
  const folded = foldable && value === undefined;
  const fields = folded ? [] : Object.entries(schema.properties ?? {}).map(([name, member]) => (
    <SchemaField key={name} schema={member} root={root} name={name} depth={depth + 1} required={inUse && (schema.required ?? []).includes(name)} value={members[name]}
      onChange={(next) => {
        const changed = withMember(value ?? startingValue(schema, root), name, next);
        const empty = !required && !foldable && typeof changed === "object" && changed !== null && Object.keys(changed).length === 0;
        onChange(empty ? undefined : changed);
      }} />
  ));
  if (!legend) return <div className={styles["members"]}>{fields}</div>;
  return (
    <fieldset className={styles["group"]}>
      <legend>{legend} {!required && <span className="muted">(optional)</span>}</legend>
      {hint && <p className="muted">{hint}</p>}
      {folded ? <div><Button size="small" icon="plus" aria-label={`Add ${legend}`} onClick={() => onChange(startingValue(schema, root))}>Add</Button></div> : <div className={styles["members"]}>{fields}</div>}
      {foldable && !folded && <div><Button size="small" icon="trash" aria-label={`Leave out ${legend}`} onClick={() => onChange(undefined)}>Leave out</Button></div>}
    </fieldset>
  );
}

function Items({ schema, root, name, required, depth, value, onChange }: FieldProps & { schema: Schema }) {
  const items = Array.isArray(value) ? value : [];
  // A field keeps what is typed into it: it goes with its item, and not with the place of it.
  const keys = useRef<number[]>([]);
  while (keys.current.length < items.length) keys.current.push((keys.current.at(-1) ?? 0) + 1);
  const remove = (index: number) => {
    keys.current.splice(index, 1);
    change(items.toSpliced(index, 1));
  };
  const change = (next: Json[]) => onChange(next.length || required ? next : undefined);
  const label = schema.title || name;
  return (
    <fieldset className={styles["group"]}>
      <legend>{label} {!required && <span className="muted">(optional)</span>}</legend>
      {schema.description && <p className="muted">{schema.description}</p>}
      {items.map((item, index) => (
        <div key={keys.current[index]} className={styles["item"]}>
          <SchemaField schema={schema.items} root={root} depth={depth + 1} name={`${label} ${index + 1}`} required value={item} onChange={(next) => change(items.with(index, next ?? null))} />
          <IconButton label={`Remove ${label} ${index + 1}`} icon="trash" size="small" onClick={() => remove(index)} />
        </div>
      ))}
      <div><Button size="small" icon="plus" aria-label={`Add to ${label}`} onClick={() => change([...items, startingValue(schema.items, root) ?? null])}>Add</Button></div>
    </fieldset>
  );
}

/** The text is kept as it is typed; the value follows as soon as it is JSON. */
function JsonField({ label, hint, optional, required, value, onChange }: { label: string; hint: string | undefined; optional: boolean; required: boolean; value: Value; onChange: (value: Value) => void }) {
  const [text, setText] = useState(value === undefined || value === null ? "" : JSON.stringify(value, null, 2));
  const parsed = text.trim() === "" ? null : parsedJson(text);
  return (
    <TextArea {...{ label, optional }} hint={hint ? `${hint} (JSON)` : "JSON: a text in quotes, a number, an object, a list"} required={required} rows={2} value={text} spellCheck={false}
      error={parsed && "error" in parsed ? parsed.error : undefined}
      onChange={(event) => {
        setText(event.target.value);
        const now = event.target.value.trim() === "" ? null : parsedJson(event.target.value);
        // Else the form would be sent with what was there before.
        event.target.setCustomValidity(now && "error" in now ? now.error : "");
        if (now === null) onChange(undefined);
        else if ("value" in now) onChange(now.value);
      }} />
  );
}
