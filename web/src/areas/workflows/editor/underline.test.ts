import { yaml } from "@codemirror/lang-yaml";
import { EditorState } from "@codemirror/state";
import { expect, it } from "vitest";

import { diagnosticsOf } from "./underline";

const TEXT = `do:
  - call mail:
      call: http
      with: {method: post, endpoint: 'http://mail.example/send now'}
  - wait: until tomorrow morning # not a time
  - pause:
      wait: \${ .seconds + 1 }
  - half: [1, 2
`;

const state = EditorState.create({ doc: TEXT, extensions: [yaml()] });

/** What is underlined of a finding that begins with these words. */
function underlined(words: string): string {
  const before = TEXT.slice(0, TEXT.indexOf(words)).split("\n");
  const place = { line: before.length, column: (before.at(-1) ?? "").length + 1 };
  const [found] = diagnosticsOf(state, [{ ...place, path: "", message: "", code: "", severity: "error" } as never]);
  return found ? state.doc.sliceString(found.from, found.to) : "";
}

it.each([
  ["a name", "call mail", "call mail"],
  ["a value", "http\n", "http"],
  ["a value in quotes, with all that it holds", "'http", "'http://mail.example/send now'"],
  ["a value of several words, without the comment", "until", "until tomorrow morning"],
  ["a mapping in braces", "{method", "{method: post, endpoint: 'http://mail.example/send now'}"],
  ["an expression", "${", "${ .seconds + 1 }"],
  ["what is not finished, to the end of its line", "[1", "[1, 2"],
])("underlines %s", (_, words, whole) => expect(underlined(words)).toBe(whole));

it("stays inside the text when that has become shorter", () => {
  const [found] = diagnosticsOf(state, [{ line: 99, column: 99, path: "", message: "", code: "", severity: "error" } as never]);
  expect(found?.to).toBe(TEXT.length);
});
