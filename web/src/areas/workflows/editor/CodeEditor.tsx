/** A code editor for definitions. Loaded when needed. */
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { bracketMatching, foldGutter, foldKeymap, indentOnInput, indentUnit } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { EditorState, StateEffect, StateField, type Text } from "@codemirror/state";
import { Decoration, drawSelection, EditorView, highlightActiveLine, highlightActiveLineGutter, keymap, lineNumbers } from "@codemirror/view";
import { useEffect, useLayoutEffect, useRef } from "react";

import { cspNonce } from "@/lib/nonce";
import type { Examined } from "../data";
import { completionFrom, meaningFrom } from "./assist";
import type { Schema } from "./schema";
import { codeLook } from "./theme";
import { diagnosticsOf } from "./underline";

type Finding = Examined["errors"][number];

export interface CodeEditorProps {
  value: string;
  label: string;
  readOnly?: boolean;
  findings: Finding[];
  /** As soon as it is there: who types before that is offered something, too. */
  schema: () => Promise<Schema | null>;
  /** The lines of the selected task, from and to, counted from 1. */
  chosen: readonly [number, number] | null;
  /** A new object asks to go to its line; with a column, to write there. */
  goTo: { line: number; column?: number } | null;
  onChange: (text: string) => void;
  /** The line that the cursor is on, when somebody moved it. */
  onLine: (line: number) => void;
  onSave: () => void;
}

const choose = StateEffect.define<readonly [number, number] | null>();
const mark = Decoration.line({ class: "cm-chosen" });

const chosenLines = StateField.define({
  create: () => Decoration.none,
  update(marks, transaction) {
    let now = marks.map(transaction.changes);
    for (const effect of transaction.effects) if (effect.is(choose)) now = marksOf(transaction.state.doc, effect.value);
    return now;
  },
  provide: (field) => EditorView.decorations.from(field),
});

function marksOf(doc: Text, range: readonly [number, number] | null) {
  if (!range) return Decoration.none;
  const last = Math.min(range[1], doc.lines);
  const all = [];
  for (let number = Math.max(1, range[0]); number <= last; number++) all.push(mark.range(doc.line(number).from));
  return Decoration.set(all);
}

export default function CodeEditor(props: CodeEditorProps) {
  const holder = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const now = useRef(props);
  now.current = props;

  useEffect(() => {
    if (!holder.current) return;
    const made = new EditorView({
      parent: holder.current,
      state: EditorState.create({
        doc: now.current.value,
        extensions: [
          EditorView.cspNonce.of(cspNonce()),
          EditorState.readOnly.of(now.current.readOnly ?? false),
          EditorView.contentAttributes.of({ "aria-label": now.current.label, "aria-multiline": "true", tabindex: "0" }),
          lineNumbers(), highlightActiveLine(), highlightActiveLineGutter(), foldGutter(), lintGutter(), history(), drawSelection(),
          indentOnInput(), indentUnit.of("  "), EditorState.tabSize.of(2), bracketMatching(), closeBrackets(), search({ top: true }), highlightSelectionMatches(),
          yaml(), codeLook, chosenLines, EditorView.lineWrapping,
          autocompletion({ override: [completionFrom(() => now.current.schema())], icons: false }),
          meaningFrom(() => now.current.schema()),
          keymap.of([
            { key: "Mod-s", run: () => (now.current.onSave(), true), preventDefault: true },
            ...closeBracketsKeymap, ...completionKeymap, ...searchKeymap, ...historyKeymap, ...foldKeymap, ...lintKeymap, ...defaultKeymap, indentWithTab,
          ]),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) now.current.onChange(update.state.doc.toString());
            const moved = update.transactions.some((one) => one.isUserEvent("select") || one.isUserEvent("input") || one.isUserEvent("delete"));
            if (moved) now.current.onLine(update.state.doc.lineAt(update.state.selection.main.head).number);
          }),
        ],
      }),
    });
    view.current = made;
    return () => made.destroy();
  }, []);

  // At once: an effect that comes later would put back the text from before the key that was pressed meanwhile.
  useLayoutEffect(() => {
    const made = view.current;
    if (!made || made.state.doc.toString() === props.value) return;
    made.dispatch({ changes: { from: 0, to: made.state.doc.length, insert: props.value } });
  }, [props.value]);

  useEffect(() => {
    const made = view.current;
    if (made) made.dispatch(setDiagnostics(made.state, diagnosticsOf(made.state, props.findings)));
  }, [props.findings]);

  const [from, to] = props.chosen ?? [0, 0];
  useEffect(() => view.current?.dispatch({ effects: choose.of(from ? [from, to] : null) }), [from, to]);

  useEffect(() => {
    const made = view.current;
    if (!made || !props.goTo) return;
    const line = made.state.doc.line(Math.min(Math.max(1, props.goTo.line), made.state.doc.lines));
    const anchor = Math.min(line.to, line.from + Math.max(0, (props.goTo.column ?? 1) - 1));
    made.dispatch({ selection: { anchor }, effects: EditorView.scrollIntoView(anchor, { y: "start", yMargin: 60 }) });
    if (props.goTo.column !== undefined) made.focus();
  }, [props.goTo]);

  return <div ref={holder} style={{ height: "100%", minHeight: 0 }} />;
}
