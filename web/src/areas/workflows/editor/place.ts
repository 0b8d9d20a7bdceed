/** Where in a YAML text one is, by its indentation: it must work while the text is half written and no parser would take it. */
export interface Step {
  /** The name of a member; null for an item of a list. */
  name: string | null;
  line: number;
  column: number;
}

export interface Place {
  /** From the outside in, to the mapping that the cursor is in. */
  path: Step[];
  /** What is being written: the name of a member, or the value of one. */
  kind: "name" | "value";
  /** Of a value: whose it is. */
  name: string;
  /** What is written already, and where it begins. */
  written: string;
  from: number;
  /** Where members of this mapping begin. */
  column: number;
}

interface Token {
  column: number;
  name: string | null;
  value: string;
}

const KEY = /^("(?:[^"\\]|\\.)*"|'[^']*'|[^\s#'"[\]{},&*!|>%@`-][^#:]*?|-[^\s#:][^#:]*?)\s*:(?=\s|$)/;

/** The dashes of a line, then the name of its first member. */
export function tokensOf(line: string): Token[] {
  const tokens: Token[] = [];
  let column = line.length - line.trimStart().length;
  let rest = line.slice(column);
  while (/^-(\s|$)/.test(rest)) {
    tokens.push({ column, name: null, value: "" });
    const inner = rest.slice(1);
    const skipped = 1 + inner.length - inner.trimStart().length;
    column += skipped;
    rest = rest.slice(skipped);
  }
  const key = KEY.exec(rest);
  if (key?.[1]) tokens.push({ column, name: key[1].replace(/^(['"])(.*)\1$/, "$2"), value: rest.slice(key[0].length).trim() });
  return tokens;
}

const isNothing = (line: string) => /^\s*(#.*)?$/.test(line);
const isBlockText = (value: string) => /^[|>][+-]?\d*[+-]?\s*(#.*)?$/.test(value);

/** Lines and columns from 0. None within texts, comments and flow style. */
export function placeAt(lines: readonly string[], line: number, column: number): Place | null {
  const before = (lines[line] ?? "").slice(0, column);
  const tokens = tokensOf(before);
  const dashes = tokens.filter((token) => token.name === null);
  const key = tokens.find((token) => token.name !== null);
  const start = key ? key.column : contentColumn(before, dashes);
  const path = pathTo(lines, line, start, dashes);
  if (!path) return null;
  if (key) {
    const typed = /(\S*)$/.exec(before)?.[1] ?? "";
    const between = before.slice(key.column).replace(/^.*?:\s*/, "");
    if (/[{[#"'|>]/.test(between) || between !== typed) return null;
    return { path, kind: "value", name: key.name ?? "", written: typed, from: column - typed.length, column: start };
  }
  const written = before.slice(start);
  if (!/^[\w$.-]*$/.test(written)) return null;
  return { path, kind: "name", name: "", written, from: start, column: start };
}

function contentColumn(before: string, dashes: Token[]): number {
  const last = dashes.at(-1);
  if (!last) return before.length - before.trimStart().length;
  const rest = before.slice(last.column + 1);
  return last.column + 1 + (rest.length - rest.trimStart().length);
}

function pathTo(lines: readonly string[], line: number, start: number, dashes: Token[]): Step[] | null {
  const path: Step[] = [];
  let bound = start;
  let afterDash = false;
  const take = (token: Token, at: number) => {
    path.unshift({ name: token.name, line: at, column: token.column });
    bound = token.column;
    afterDash = token.name === null;
  };
  for (const dash of dashes.toReversed()) if (dash.column < bound) take(dash, line);
  for (let at = line - 1; at >= 0 && (bound > 0 || afterDash); at--) {
    const text = lines[at] ?? "";
    if (isNothing(text)) continue;
    for (const token of tokensOf(text).toReversed()) {
      // A list may stand in the same column as the name that it belongs to.
      const outside = token.column < bound || (afterDash && token.name !== null && token.column === bound);
      if (!outside) continue;
      if (token.name !== null && isBlockText(token.value)) return null;
      if (token.name !== null && token.value !== "" && !/^[&!#]/.test(token.value)) return null;
      take(token, at);
    }
  }
  return path;
}

/** The members of the mapping that begins in this column, seen from one of its lines, with the values that stand on their lines. */
export function membersAround(lines: readonly string[], line: number, column: number): Map<string, string> {
  const members = new Map<string, string>();
  const look = (at: number): boolean => {
    const text = lines[at] ?? "";
    if (isNothing(text)) return true;
    const tokens = tokensOf(text);
    const first = tokens[0]?.column ?? text.length - text.trimStart().length;
    const own = tokens.find((token) => token.name !== null && token.column === column);
    if (own?.name) members.set(own.name, own.value.replace(/^(['"])(.*)\1$/, "$2"));
    return first >= column;
  };
  // A line that begins further left ends the mapping; upwards it may still hold the first member, after a dash.
  for (let at = line - 1; at >= 0 && look(at); at--);
  for (let at = line + 1; at < lines.length; at++) {
    const text = lines[at] ?? "";
    if (!isNothing(text) && text.length - text.trimStart().length < column) break;
    look(at);
  }
  return members;
}

/** The names of the tasks of the list in which the place is: where `then` may lead. A case of a switch leads on in the list of its switch. */
export function tasksAround(lines: readonly string[], path: readonly Step[]): string[] {
  const inCase = path.at(-3)?.name === "switch";
  const dash = path.at(inCase ? -5 : -2);
  if (!dash || dash.name !== null) return [];
  const names: string[] = [];
  const look = (at: number): boolean => {
    const text = lines[at] ?? "";
    if (isNothing(text)) return true;
    const tokens = tokensOf(text);
    const here = tokens.findIndex((token) => token.name === null && token.column === dash.column);
    const name = here >= 0 ? tokens[here + 1]?.name : undefined;
    if (name) names.push(name);
    const first = tokens[0]?.column ?? text.length - text.trimStart().length;
    return first > dash.column || here >= 0;
  };
  for (let at = dash.line; at >= 0 && look(at); at--);
  names.reverse();
  for (let at = dash.line + 1; at < lines.length && look(at); at++);
  return names;
}
