import { useEffect } from "react";

/** The document's title while a page is shown: "Sign in · Penstock". */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Penstock`;
  }, [title]);
}
