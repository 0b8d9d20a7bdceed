/** Light, dark, or what the system says. `public/theme.js` applies the choice before the first paint. */
import { useSyncExternalStore } from "react";

export type Theme = "system" | "light" | "dark";

const KEY = "penstock.theme";
const listeners = new Set<() => void>();

function chosen(): Theme {
  const given = document.documentElement.dataset["theme"];
  return given === "light" || given === "dark" ? given : "system";
}

export function choose(theme: Theme): void {
  if (theme === "system") {
    delete document.documentElement.dataset["theme"];
    localStorage.removeItem(KEY);
  } else {
    document.documentElement.dataset["theme"] = theme;
    localStorage.setItem(KEY, theme);
  }
  for (const listener of listeners) listener();
}

export function useTheme(): Theme {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, chosen);
}
