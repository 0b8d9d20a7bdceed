import { useSearchParams } from "react-router";

import { Button } from "./Button";

/** The page of a list, kept in the address (`?page=2`), so that links and the back button are right. */
export function usePage(): [number, (page: number) => void] {
  const [search, setSearch] = useSearchParams();
  const page = Math.max(1, Number(search.get("page")) || 1);
  const go = (next: number) =>
    setSearch((was) => {
      const now = new URLSearchParams(was);
      if (next <= 1) now.delete("page");
      else now.set("page", String(next));
      return now;
    });
  return [page, go];
}

export function Pagination({ page, pageSize, total, onPage }: { page: number; pageSize: number; total: number; onPage: (page: number) => void }) {
  const pages = Math.max(1, Math.ceil(total / pageSize));
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
