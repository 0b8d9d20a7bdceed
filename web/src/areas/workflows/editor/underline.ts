/** Findings as the editor shows them: the check says where each begins, the text says how far it goes. */
import { ensureSyntaxTree } from "@codemirror/language";
import type { Diagnostic } from "@codemirror/lint";
import type { EditorState } from "@codemirror/state";

import type { Examined } from "../data";

type Finding = Examined["errors"][number];

const READ = 50; // milliseconds for the text up to a finding
const WHOLE = new Set(["Literal", "QuotedLiteral", "Alias", "Anchor", "Tag", "FlowSequence", "FlowMapping"]);

export function diagnosticsOf(state: EditorState, findings: readonly Finding[]): Diagnostic[] {
  return findings.map((finding) => {
    const line = state.doc.line(Math.min(Math.max(1, finding.line), state.doc.lines));
    const from = Math.min(line.from + Math.max(0, finding.column - 1), line.to);
    return { from, to: endOf(state, from, line.to), severity: finding.severity, message: finding.message, source: finding.code };
  });
}

/** The end of what begins here, on its line: a name, a value with its quotes, a list in brackets; of a half-written text, the word. */
function endOf(state: EditorState, from: number, end: number): number {
  let node = ensureSyntaxTree(state, end, READ)?.resolveInner(from, 1) ?? null;
  while (node && node.from === from) {
    if (WHOLE.has(node.name)) return Math.min(node.to, end);
    node = node.parent;
  }
  const word = /^[^\s,}\]]+?(?=:?(?:[\s,}\]]|$))/.exec(state.doc.sliceString(from, end))?.[0] ?? "";
  return word ? from + word.length : end;
}
