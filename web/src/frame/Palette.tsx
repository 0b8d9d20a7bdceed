/** Search over everything that registered (`/` or Ctrl-K): type, arrows, Enter. */
import { useQuery } from "@tanstack/react-query";
import { type KeyboardEvent, useDeferredValue, useEffect, useId, useRef, useState } from "react";
import { useNavigate } from "react-router";

import { Icon, KeyboardHint } from "@/components";
import styles from "./Palette.module.css";
import { useScope } from "./scope";
import { type Hit, searchSources } from "./search";

/** Opens the palette by keyboard, unless somebody is typing. */
export function useSearchKeys(open: () => void): void {
  useEffect(() => {
    const pressed = (event: globalThis.KeyboardEvent) => {
      const target = event.target as HTMLElement;
      const typing = target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
      const slash = event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey;
      const k = event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey);
      if (!slash && !k) return;
      event.preventDefault();
      open();
    };
    document.addEventListener("keydown", pressed);
    return () => document.removeEventListener("keydown", pressed);
  }, [open]);
}

export function Palette({ onClose }: { onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const asked = useDeferredValue(text.trim());
  const { place } = useScope();
  const navigate = useNavigate();
  const id = useId();
  const found = useQuery({
    queryKey: ["search", asked, place.company, place.project],
    queryFn: ({ signal }) =>
      Promise.all(searchSources().map(async (source) => ({ source, hits: await source.find(asked, place, signal).catch(() => []) }))),
    placeholderData: (before) => before,
    staleTime: 5_000,
  });
  const groups = (found.data ?? []).filter((group) => group.hits.length > 0);
  const hits = groups.flatMap((group) => group.hits);
  const chosen = hits[Math.min(at, hits.length - 1)];

  useEffect(() => dialog.current?.showModal(), []);
  useEffect(() => setAt(0), [asked]);
  useEffect(() => {
    if (chosen) document.getElementById(`${id}-${chosen.key}`)?.scrollIntoView({ block: "nearest" });
  }, [chosen, id]);

  const go = (hit: Hit | undefined) => {
    if (!hit) return;
    onClose();
    void navigate(hit.to);
  };
  const pressed = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step && hits.length) {
      event.preventDefault();
      setAt((Math.min(at, hits.length - 1) + step + hits.length) % hits.length);
    } else if (event.key === "Enter") {
      event.preventDefault();
      go(chosen);
    }
  };

  return (
    <dialog ref={dialog} className={styles["palette"]} aria-label="Search" onClose={onClose} onClick={(event) => event.target === dialog.current && onClose()}>
      <div className={styles["input"]}>
        <Icon name="search" />
        <input autoFocus type="text" role="combobox" aria-label="Search workflows, executions and pages" aria-expanded="true" aria-controls={`${id}-hits`}
          aria-activedescendant={chosen && `${id}-${chosen.key}`} placeholder="Search workflows, executions, pages" autoComplete="off" spellCheck={false}
          value={text} onChange={(event) => setText(event.target.value)} onKeyDown={pressed} />
      </div>
      <div id={`${id}-hits`} role="listbox" aria-label="Results" className={styles["hits"]}>
        {groups.map(({ source, hits: own }) => (
          <div key={source.id} role="group" aria-label={source.title}>
            <div className={styles["group"]} aria-hidden="true">{source.title}</div>
            {own.map((hit) => (
              <div key={hit.key} id={`${id}-${hit.key}`} role="option" aria-selected={hit === chosen} className={styles["hit"]}
                onClick={() => go(hit)} onPointerMove={() => setAt(hits.indexOf(hit))}>
                <Icon name={hit.icon} /> <span>{hit.title}</span>
                {hit.about && <span className={styles["about"]}>{hit.about}</span>}
              </div>
            ))}
          </div>
        ))}
        {found.isSuccess && !found.isPlaceholderData && hits.length === 0 && (
          <div className={styles["none"]}>Nothing found. Names, parts of names and ids work.</div>
        )}
      </div>
      <div className={styles["foot"]} aria-hidden="true">
        <span><KeyboardHint keys="↑" /> <KeyboardHint keys="↓" /> move</span>
        <span><KeyboardHint keys="↵" /> open</span>
        <span><KeyboardHint keys="Esc" /> close</span>
      </div>
    </dialog>
  );
}
