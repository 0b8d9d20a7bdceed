/** What a JSON Schema says about a place in a text: which members may stand there, which values, and what they mean. */
import { membersAround, type Place, type Step, tasksAround } from "./place";

export interface Schema {
  $ref?: string;
  description?: string;
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  items?: Schema | boolean;
  required?: string[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  $defs?: Record<string, Schema>;
}

export interface Offer {
  label: string;
  about: string;
  /** What belongs below it, or beside it. */
  holds: "members" | "items" | "value";
  required: boolean;
}

const MOST = 400;

/** All forms that a schema leaves open, each without references and alternatives. */
function forms(schema: Schema | boolean | undefined, root: Schema, seen: ReadonlySet<string> = new Set()): Schema[] {
  if (typeof schema !== "object") return [];
  const own: Schema[] = [];
  if (schema.properties || schema.items || schema.enum || schema.const !== undefined || schema.type || schema.additionalProperties) own.push(schema);
  if (schema.$ref && !seen.has(schema.$ref)) {
    const target = schema.$ref.split("/").slice(1).reduce<unknown>((at, name) => (at as Record<string, unknown> | undefined)?.[name], root);
    const inside = forms(target as Schema, root, new Set([...seen, schema.$ref]));
    own.push(...(schema.description ? inside.map((one) => ({ ...one, description: schema.description ?? one.description ?? "" })) : inside));
  }
  for (const alternative of [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])]) own.push(...forms(alternative, root, seen));
  return own.slice(0, MOST);
}

/** Those that what is already written leaves possible: all its members known, and their values among the allowed ones. */
function fitting(all: Schema[], members: ReadonlyMap<string, string>): Schema[] {
  const fits = (schema: Schema) => [...members].every(([name, value]) => {
    const member = schema.properties?.[name];
    if (!member) return !schema.properties || schema.additionalProperties !== false;
    return !member.enum || value === "" || member.enum.map(String).includes(value);
  });
  const left = all.filter((schema) => schema.properties && fits(schema));
  return left.length > 0 ? left : all;
}

/** The forms of the mapping that a path leads to. */
function formsAt(root: Schema, lines: readonly string[], path: Step[]): Schema[] {
  let now = forms(root, root);
  for (const step of path) {
    if (step.name === null) {
      now = now.flatMap((schema) => forms(schema.items, root));
      continue;
    }
    const name = step.name;
    now = fitting(now, membersAround(lines, step.line, step.column)).flatMap((schema) =>
      forms(schema.properties?.[name] ?? (schema.properties && name in schema.properties ? undefined : schema.additionalProperties), root));
  }
  return now;
}

function holdsOf(schema: Schema, root: Schema): Offer["holds"] {
  const inside = forms(schema, root);
  if (inside.some((one) => one.enum || one.type === "string" || one.type === "boolean" || one.type === "number" || one.type === "integer")) return "value";
  if (inside.some((one) => one.type === "array" || one.items)) return "items";
  return inside.some((one) => one.type === "object" || one.properties) ? "members" : "value";
}

const aboutOf = (schema: Schema, root: Schema) => schema.description ?? forms(schema, root)[0]?.description ?? "";

/** What could be written here. */
export function offersAt(root: Schema, lines: readonly string[], line: number, place: Place): Offer[] {
  const members = membersAround(lines, line, place.column);
  const open = fitting(formsAt(root, lines, place.path), members);
  if (place.kind === "name") return names(open, members, root);
  return place.name === "then" ? ways(lines, place) : values(open, place.name, root);
}

function names(open: Schema[], members: ReadonlyMap<string, string>, root: Schema): Offer[] {
  const offers = new Map<string, Offer>();
  for (const schema of open) {
    for (const [label, member] of Object.entries(schema.properties ?? {})) {
      if (members.has(label) || offers.has(label)) continue;
      const everywhere = open.every((one) => !one.properties || one.required?.includes(label));
      offers.set(label, { label, about: aboutOf(member, root), holds: holdsOf(member, root), required: everywhere });
    }
  }
  return [...offers.values()];
}

/** What a schema cannot say: the tasks that a directive may lead to. */
function ways(lines: readonly string[], place: Place): Offer[] {
  const directives = [["continue", "The next task."], ["exit", "Past the end of this list."], ["end", "The end of the workflow."]] as const;
  const own = place.path.at(-1)?.name;
  const tasks = tasksAround(lines, place.path).filter((name) => name !== own).map((name) => [name, "A task of this list."] as const);
  return [...tasks, ...directives].map(([label, about]) => ({ label, about, holds: "value", required: false }));
}

function values(open: Schema[], name: string, root: Schema): Offer[] {
  const offers = new Map<string, Offer>();
  for (const schema of open) {
    for (const form of forms(schema.properties?.[name] ?? (schema.properties ? undefined : schema.additionalProperties), root)) {
      const given = form.enum ?? (form.const !== undefined ? [form.const] : form.type === "boolean" ? [true, false] : []);
      for (const value of given) {
        const label = String(value);
        if (!offers.has(label)) offers.set(label, { label, about: (schema.required?.includes(name) ? schema.description : undefined) ?? form.description ?? "", holds: "value", required: false });
      }
    }
  }
  return [...offers.values()];
}

/** What a member means. */
export function meaningAt(root: Schema, lines: readonly string[], line: number, path: Step[], column: number, name: string): string {
  const members = membersAround(lines, line, column);
  const open = fitting(formsAt(root, lines, path), members);
  for (const schema of open) {
    const member = schema.properties?.[name];
    if (member) return aboutOf(member, root);
  }
  return "";
}
