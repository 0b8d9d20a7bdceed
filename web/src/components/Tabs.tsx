import { type KeyboardEvent, type ReactNode, type RefObject, useEffect, useId, useRef } from "react";
import { NavLink, useLocation } from "react-router";

import styles from "./Tabs.module.css";

/** Parts of one thing, each with an address of its own. */
export function LinkTabs({ label, tabs }: { label: string; tabs: { to: string; label: ReactNode; end?: boolean }[] }) {
  const strip = useRef<HTMLElement>(null);
  useCurrentInSight(strip);
  return (
    <nav ref={strip} aria-label={label} className={styles["tabs"]}>
      {tabs.map((tab) => (
        <NavLink key={tab.to} to={tab.to} end={tab.end ?? false} className={styles["tab"]!}>
          {tab.label}
        </NavLink>
      ))}
    </nav>
  );
}

/** On a phone not all tabs have room: the one that one is at is moved into the middle, also when the phone is turned. */
function useCurrentInSight(strip: RefObject<HTMLElement | null>): void {
  const { pathname } = useLocation();
  useEffect(() => {
    const element = strip.current;
    if (!element) return;
    const move = () => {
      const current = element.querySelector("[aria-current=page]")?.getBoundingClientRect();
      if (current) element.scrollLeft += current.left - element.getBoundingClientRect().left - (element.clientWidth - current.width) / 2;
    };
    const sized = new ResizeObserver(move);
    sized.observe(element);
    return () => sized.disconnect();
  }, [strip, pathname]);
}

/** Views of one thing on one page (input, output, error). */
export function Tabs<Key extends string>({ label, tabs, chosen, onChoose }: {
  label: string;
  tabs: { key: Key; label: ReactNode; content: ReactNode }[];
  chosen: Key;
  onChoose: (key: Key) => void;
}) {
  const id = useId();
  const move = (event: KeyboardEvent<HTMLDivElement>) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!step) return;
    const next = tabs[(tabs.findIndex((tab) => tab.key === chosen) + step + tabs.length) % tabs.length];
    if (!next) return;
    event.preventDefault();
    onChoose(next.key);
    event.currentTarget.querySelector<HTMLElement>(`[data-key="${next.key}"]`)?.focus();
  };
  return (
    <div>
      <div role="tablist" aria-label={label} className={styles["tabs"]} onKeyDown={move}>
        {tabs.map((tab) => (
          <button key={tab.key} type="button" role="tab" data-key={tab.key} id={`${id}-${tab.key}`} className={styles["tab"]}
            aria-selected={tab.key === chosen} aria-controls={`${id}-panel`} tabIndex={tab.key === chosen ? 0 : -1} onClick={() => onChoose(tab.key)}>
            {tab.label}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${chosen}`} tabIndex={0}>
        {tabs.find((tab) => tab.key === chosen)?.content}
      </div>
    </div>
  );
}
