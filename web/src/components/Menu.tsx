import { type KeyboardEvent, type ReactNode, useEffect, useId, useRef, useState } from "react";
import { Link } from "react-router";

import { Icon, type IconName } from "./Icon";
import styles from "./Menu.module.css";

export type MenuEntry =
  | { kind?: "item"; label: ReactNode; icon?: IconName; onSelect?: () => void; to?: string; danger?: boolean; disabled?: boolean; current?: boolean }
  | { kind: "label"; label: string }
  | { kind: "note"; label: string }
  | { kind: "rule" };

interface MenuProps {
  entries: MenuEntry[];
  /** Beneath the trigger's left edge, or its right one; or above it. */
  align?: "start" | "end";
  above?: boolean;
  trigger: (given: { onClick: () => void; "aria-expanded": boolean; "aria-haspopup": "menu"; "aria-controls": string }) => ReactNode;
}

/** A list of actions behind a button: arrows move, Escape and a click elsewhere close, the focus comes back. */
export function Menu({ entries, align = "start", above, trigger }: MenuProps) {
  const [open, setOpen] = useState(false);
  const holder = useRef<HTMLDivElement>(null);
  const id = useId();
  const items = () => Array.from(holder.current?.querySelectorAll<HTMLElement>('[role="menuitem"]') ?? []);

  useEffect(() => {
    if (!open) return;
    items()[0]?.focus();
    const elsewhere = (event: PointerEvent) => !holder.current?.contains(event.target as Node) && setOpen(false);
    document.addEventListener("pointerdown", elsewhere);
    return () => document.removeEventListener("pointerdown", elsewhere);
  }, [open]);

  const close = () => {
    setOpen(false);
    holder.current?.querySelector<HTMLElement>("[aria-haspopup]")?.focus();
  };
  const move = (event: KeyboardEvent) => {
    const all = items();
    const at = all.indexOf(document.activeElement as HTMLElement);
    const go = (index: number) => {
      event.preventDefault();
      all[(index + all.length) % all.length]?.focus();
    };
    if (event.key === "ArrowDown") go(at + 1);
    else if (event.key === "ArrowUp") go(at - 1);
    else if (event.key === "Home") go(0);
    else if (event.key === "End") go(all.length - 1);
    else if (event.key === "Escape") {
      event.stopPropagation();
      close();
    } else if (event.key === "Tab") setOpen(false);
  };

  return (
    <div ref={holder} className={styles["holder"]} onKeyDown={open ? move : undefined}>
      {trigger({ onClick: () => setOpen(!open), "aria-expanded": open, "aria-haspopup": "menu", "aria-controls": id })}
      {open && (
        <div id={id} role="menu" className={`${styles["menu"]} ${align === "end" ? styles["end"] : ""} ${above ? styles["above"] : ""}`}>
          {entries.map((entry, index) => (
            <Entry key={index} entry={entry} close={close} />
          ))}
        </div>
      )}
    </div>
  );
}

function Entry({ entry, close }: { entry: MenuEntry; close: () => void }) {
  if (entry.kind === "rule") return <div role="separator" className={styles["rule"]} />;
  if (entry.kind === "label") return <div role="presentation" className={styles["label"]}>{entry.label}</div>;
  if (entry.kind === "note") return <div role="presentation" className={styles["note"]}>{entry.label}</div>;
  const inside = (
    <>
      {entry.icon && <Icon name={entry.icon} />}
      <span className={styles["text"]}>{entry.label}</span>
      {entry.current && <Icon name="check" size={14} />}
    </>
  );
  const given = {
    role: "menuitem",
    tabIndex: -1,
    className: `${styles["item"]} ${entry.danger ? styles["danger"] : ""}`,
    "aria-disabled": entry.disabled || undefined,
    "aria-current": entry.current || undefined,
  } as const;
  if (entry.to && !entry.disabled) return <Link {...given} to={entry.to} onClick={close}>{inside}</Link>;
  return (
    <button
      type="button"
      {...given}
      onClick={() => {
        if (entry.disabled) return;
        close();
        entry.onSelect?.();
      }}
    >
      {inside}
    </button>
  );
}
