import { useEffect } from "react";
import { useSearchParams } from "react-router";

import { Button } from "./Button";

/** `instead` of the page that is in the address, which one does not come back to. */
type GoTo = (page: number, instead?: boolean) => void;

/** The page of a list, kept in the address (`?page=2`), so that links and the back button are right. */
export function usePage(): [number, GoTo] {
  const [search, setSearch] = useSearchParams();
  const page = Math.max(1, Math.floor(Number(search.get("page"))) || 1);
  const go: GoTo = (next, instead = false) =>
    setSearch((was) => {
      const now = new URLSearchParams(was);
      if (next <= 1) now.delete("page");
      else now.set("page", String(next));
      return now;
    }, { replace: instead });
  return [page, go];
}

interface PaginationProps {
  page: number;
  pageSize: number;
  total: number;
  /** How many are on this page. With none, it is a page that is no more (the last on it was deleted, a link is old): the last one is shown instead. */
  shown: number;
  onPage: GoTo;
}

export function Pagination({ page, pageSize, total, shown, onPage }: PaginationProps) {
  const pages = Math.max(1, Math.ceil(total / pageSize));
  const gone = shown === 0 && page > pages;
  useEffect(() => {
    if (gone) onPage(pages, true);
  });
  if (pages === 1) return null;
  const first = (page - 1) * pageSize + 1;
  return (
    <nav className="spread" aria-label="Pages">
      <span className="muted">
        {first.toLocaleString("en")}–{Math.min(total, page * pageSize).toLocaleString("en")} of {total.toLocaleString("en")}
      </span>
      <span className="row">
        <Button size="small" disabled={page <= 1} onClick={() => onPage(page - 1)}>Previous</Button>
        <Button size="small" disabled={page >= pages} onClick={() => onPage(page + 1)}>Next</Button>
      </span>
    </nav>
  );
}
