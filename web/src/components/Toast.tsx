/** Short news of something that was done, or could not be. `toast("Deployed version 3")`, `toastProblem(error)`. */
import { useSyncExternalStore } from "react";

import { asProblem, wordsOf } from "@/api/problem";
import { IconButton } from "./Button";
import { Icon } from "./Icon";
import styles from "./Toast.module.css";

interface News {
  id: number;
  text: string;
  tone: "ok" | "bad";
}

let news: News[] = [];
let last = 0;
const listeners = new Set<() => void>();

function change(next: News[]): void {
  news = next;
  for (const listener of listeners) listener();
}

export function toast(text: string, tone: News["tone"] = "ok"): void {
  const id = ++last;
  change([...news.slice(-3), { id, text, tone }]);
  // What went wrong stays until it is put away: it may say what to do.
  if (tone === "ok") setTimeout(() => change(news.filter((one) => one.id !== id)), 5000);
}

export function toastProblem(error: unknown): void {
  toast(wordsOf(asProblem(error)), "bad");
}

export function Toasts() {
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => news,
  );
  return (
    <div className={styles["region"]} role="status" aria-live="polite">
      {shown.map((one) => (
        <div key={one.id} className={`${styles["toast"]} ${styles[one.tone]}`}>
          <Icon name={one.tone === "ok" ? "check" : "alert"} />
          <span className={styles["text"]}>{one.text}</span>
          <IconButton label="Dismiss" icon="cross" size="small" onClick={() => change(news.filter((other) => other.id !== one.id))} />
        </div>
      ))}
    </div>
  );
}
