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

/** Which control a value gets. What a form cannot say is asked for as JSON. */
export function kindOf(schema: Schema): Kind {
  if (schema.enum && schema.enum.every((one) => typeof one !== "object" || one === null)) return "choice";
  const types = (Array.isArray(schema.type) ? schema.type : [schema.type]).filter((type) => type !== "null");
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

/** What the form begins with: the defaults, and nothing where there is none. */
export function startingValue(given: Schema | boolean | undefined, root: Schema, depth = 0): Value {
  const schema = resolved(given, root);
  if (schema.default !== undefined) return schema.default;
  if (schema.const !== undefined) return schema.const;
  if (kindOf(schema) !== "object" || depth > 6) return undefined;
  const members: Record<string, Json> = {};
  for (const [name, member] of Object.entries(schema.properties ?? {})) {
    const value = startingValue(member, root, depth + 1);
    if (value !== undefined) members[name] = value;
  }
  return depth === 0 || Object.keys(members).length > 0 || !isOptionalEmpty(schema) ? members : undefined;
}

const isOptionalEmpty = (schema: Schema) => (schema.required ?? []).length === 0;

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
