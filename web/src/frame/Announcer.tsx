import { useEffect, useRef, useState } from "react";
import { useLocation } from "react-router";

/** After going to another page: its title is read aloud, and the focus is at its heading, as with a page of a server. */
export function Announcer() {
  const { pathname } = useLocation();
  const first = useRef(true);
  const [said, setSaid] = useState("");
  useEffect(() => {
    if (first.current) {
      first.current = false;
      return;
    }
    // A tab of the page that one is on keeps the focus where it is; a new page begins at its heading.
    const settle = requestAnimationFrame(() => {
      setSaid(document.title.replace(" · Penstock", ""));
      const inPage = document.activeElement?.closest("main");
      if (!inPage) document.querySelector<HTMLElement>("main h1")?.focus({ preventScroll: true });
    });
    return () => cancelAnimationFrame(settle);
  }, [pathname]);
  return <div className="visually-hidden" role="status" aria-live="polite">{said}</div>;
}
