/** Two texts, side by side where there is room, one below the other where there is not. Loaded when needed. */
import { yaml } from "@codemirror/lang-yaml";
import { MergeView, unifiedMergeView } from "@codemirror/merge";
import { EditorState } from "@codemirror/state";
import { EditorView, lineNumbers } from "@codemirror/view";
import { useEffect, useRef } from "react";

import { Icon } from "@/components";
import { cspNonce } from "@/lib/nonce";
import styles from "./Editor.module.css";
import { codeLook } from "./theme";

export interface DiffProps {
  before: string;
  after: string;
  labels: [string, string];
}

const ROOM = 640; // pixels

export default function DiffView({ before, after, labels }: DiffProps) {
  const holder = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = holder.current;
    if (!element) return;
    const common = (label: string) => [
      EditorView.cspNonce.of(cspNonce()), EditorState.readOnly.of(true), EditorView.editable.of(false), lineNumbers(), yaml(), codeLook, EditorView.lineWrapping,
      // What can be scrolled can be reached with the keyboard.
      EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0", role: "textbox", "aria-readonly": "true", "aria-multiline": "true" }),
    ];
    const collapse = { margin: 4, minSize: 8 };
    const made = element.clientWidth >= ROOM
      ? new MergeView({ parent: element, a: { doc: before, extensions: common(labels[0]) }, b: { doc: after, extensions: common(labels[1]) }, collapseUnchanged: collapse, gutter: true })
      : new EditorView({ parent: element, state: EditorState.create({ doc: after, extensions: [...common(`${labels[0]} and ${labels[1]}`), unifiedMergeView({ original: before, mergeControls: false, collapseUnchanged: collapse })] }) });
    return () => made.destroy();
  }, [before, after, labels[0], labels[1]]);
  return (
    <div className={styles["diff"]}>
      <div className={styles["sides"]}><span>{labels[0]}</span> <Icon name="right" size={13} /> <span>{labels[1]}</span></div>
      <div ref={holder} className={styles["merge"]} />
    </div>
  );
}
