/** From the schema of an input to the fields of a form, and from what was filled in to JSON. */
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
export type Value = Json | undefined;

export interface Schema {
  type?: string | string[];
  title?: string;
  description?: string;
  default?: Json;
  enum?: Json[];
  const?: Json;
  format?: string;
  properties?: Record<string, Schema | boolean>;
  required?: string[];
  items?: Schema | boolean;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  exclusiveMaximum?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  examples?: Json[];
  $ref?: string;
  [other: string]: unknown;
}

/** Further in, JSON is asked for: a schema may lead back to itself. */
export const DEEPEST = 4;

/** From here on, what may be left out is folded away. */
export const FOLDED = 2;

export type Kind = "string" | "number" | "integer" | "boolean" | "choice" | "object" | "list" | "json";

/** What a `$ref` within the same document leads to; what leads elsewhere is anything. */
export function resolved(schema: Schema | boolean | undefined, root: Schema): Schema {
  let now: Schema = typeof schema === "object" ? schema : {};
  for (let hops = 0; now.$ref?.startsWith("#") && hops < 20; hops++) {
    const { $ref, ...rest } = now;
    let target: unknown = root;
    for (const part of $ref.slice(1).split("/").filter(Boolean)) {
      target = (target as Record<string, unknown> | undefined)?.[decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~")];
    }
    now = { ...(typeof target === "object" && target !== null ? (target as Schema) : {}), ...rest };
  }
  return now;
}

export interface Choice {
  value: Json;
  label: string;
}

/** What there is to choose from, by `enum` or as constants with titles; null where something else is asked for. */
export function choicesOf(schema: Schema): Choice[] | null {
  if (!schema.enum) return constantsOf(schema.oneOf ?? schema.anyOf);
  if (schema.enum.some((one) => typeof one === "object" && one !== null)) return null;
  return schema.enum.map((one) => ({ value: one, label: String(one) }));
}

function constantsOf(given: unknown): Choice[] | null {
  if (!Array.isArray(given) || given.length === 0) return null;
  const all = given as Schema[];
  if (!all.every((one) => one?.const !== undefined && typeof one.const !== "object")) return null;
  return all.map((one) => ({ value: one.const ?? null, label: one.title ?? String(one.const) }));
}

const typesOf = (schema: Schema) => (Array.isArray(schema.type) ? schema.type : [schema.type]);

/** Whether nothing, said as `null`, is a value as well. */
export const mayBeNull = (schema: Schema) => typesOf(schema).includes("null");

/** Which control a value gets. What a form cannot say is asked for as JSON. */
export function kindOf(schema: Schema): Kind {
  if (choicesOf(schema)) return "choice";
  const types = typesOf(schema).filter((type) => type !== "null");
  if (types.length !== 1) return schema.properties ? "object" : "json";
  switch (types[0]) {
    case "string":
    case "number":
    case "integer":
    case "boolean":
      return types[0];
    case "object":
      return schema.properties && Object.keys(schema.properties).length > 0 ? "object" : "json";
    case "array":
      return schema.items && typeof schema.items === "object" ? "list" : "json";
    default:
      return "json";
  }
}

/** Whether a form says more than a text field would. */
export const hasForm = (schema: Schema | boolean | null | undefined): schema is Schema =>
  typeof schema === "object" && schema !== null && kindOf(resolved(schema, schema)) === "object";

/** What the form begins with: the defaults, what an untouched field says, and nothing where there is neither. */
export function startingValue(given: Schema | boolean | undefined, root: Schema, required = true, depth = 0): Value {
  const schema = resolved(given, root);
  if (schema.default !== undefined) return schema.default;
  if (schema.const !== undefined) return schema.const;
  if (required && mayBeNull(schema)) return null;
  switch (kindOf(schema)) {
    case "boolean":
      return required ? false : undefined; // what a box without a tick says
    case "list":
      return required ? [] : undefined;
    case "object":
      return depth > DEEPEST ? undefined : startingMembers(schema, root, required, depth);
    default:
      return undefined;
  }
}

function startingMembers(schema: Schema, root: Schema, required: boolean, depth: number): Value {
  const members: Record<string, Json> = {};
  for (const [name, member] of Object.entries(schema.properties ?? {})) {
    const value = startingValue(member, root, required && (schema.required ?? []).includes(name), depth + 1);
    if (value !== undefined) members[name] = value;
  }
  if (required) return members;
  // One that may be left out is there from the beginning when its defaults are all that it needs.
  const complete = (schema.required ?? []).every((name) => name in members);
  return complete && depth < FOLDED && Object.keys(members).length > 0 ? members : undefined;
}

/** A member set, or taken out when there is nothing in it. */
export function withMember(value: Value, name: string, member: Value): Value {
  const members = typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {};
  if (member === undefined) delete members[name];
  else members[name] = member;
  return members;
}

/** What was typed, as the kind of value that is wanted; an empty field is no value. */
export function typed(text: string, kind: Kind): Value {
  if (text === "") return undefined;
  if (kind === "number" || kind === "integer") {
    const number = Number(text);
    return Number.isFinite(number) ? number : undefined;
  }
  return text;
}

export type Parsed = { value: Json } | { error: string };

export function parsedJson(text: string): Parsed {
  if (text.trim() === "") return { value: {} };
  try {
    return { value: JSON.parse(text) as Json };
  } catch (error) {
    return { error: `This is no JSON: ${error instanceof Error ? error.message : "check quotes and commas"}` };
  }
}
