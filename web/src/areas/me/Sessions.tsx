/** Where one is signed in, and the end of it. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { api, type Schema } from "@/api/client";
import { Badge, Button, ConfirmDialog, ErrorState, Pagination, SkeletonLines, Time, toast, toastProblem, usePage } from "@/components";
import { session } from "@/session/session";
import { device } from "./device";
import styles from "./Me.module.css";
import { MePage } from "./MePage";

const PAGE_SIZE = 25;

export function Component() {
  const [page, setPage] = usePage();
  const [asked, ask] = useState<"others" | "all" | null>(null);
  const cache = useQueryClient();
  const sessions = useQuery({ queryKey: ["sessions", page], queryFn: () => api.get("/api/v1/auth/sessions", { params: { query: { page, page_size: PAGE_SIZE } } }) });
  const refresh = () => cache.invalidateQueries({ queryKey: ["sessions"] });
  const several = (sessions.data?.total ?? 0) > 1;
  return (
    <MePage title="Sessions" actions={
      <>
        {several && <Button onClick={() => ask("others")}>End all others</Button>}
        <Button kind="danger" icon="out" onClick={() => ask("all")}>Sign out everywhere</Button>
      </>
    }>
      {sessions.error ? <ErrorState error={sessions.error} onRetry={() => void sessions.refetch()} /> : !sessions.data ? <SkeletonLines lines={3} height="3.8rem" /> : (
        <>
          <ul className="box" aria-label="Sessions">
            {sessions.data.items.map((one) => <One key={one.id} one={one} onEnded={refresh} />)}
          </ul>
          <Pagination page={page} pageSize={PAGE_SIZE} total={sessions.data.total} shown={sessions.data.items.length} onPage={setPage} />
        </>
      )}
      <p className="muted">A session that you do not know? End it, and change your password: that ends every other session, too.</p>
      <ConfirmDialog open={asked === "others"} onClose={() => ask(null)} title="End all other sessions?" action="End all others"
        onConfirm={async () => {
          await api.delete("/api/v1/auth/sessions");
          toast("All other sessions have ended");
          await refresh();
        }}
      >
        Browsers and programs that are signed in as you have to sign in again, at once. This one stays.
      </ConfirmDialog>
      <ConfirmDialog open={asked === "all"} onClose={() => ask(null)} title="Sign out everywhere?" action="Sign out everywhere"
        onConfirm={async () => {
          await api.delete("/api/v1/auth/sessions");
          await session.signOut();
        }}
      >
        Every session of yours ends, this one included. Programs that use your account have to sign in again.
      </ConfirmDialog>
    </MePage>
  );
}

function One({ one, onEnded }: { one: Schema<"Session">; onEnded: () => Promise<unknown> }) {
  const [busy, setBusy] = useState(false);
  const name = device(one.user_agent);
  const end = async () => {
    setBusy(true);
    try {
      if (one.current) return await session.signOut();
      await api.delete("/api/v1/auth/sessions/{sid}", { params: { path: { sid: one.id } } });
      toast(`The session of ${name} has ended`);
      await onEnded();
    } catch (error) {
      toastProblem(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <li className={styles["item"]}>
      <span>
        <b title={one.user_agent}>{name}</b>
        <small>{one.ip_address}, signed in <Time at={one.created_at} />, ends <Time at={one.expires_at} /></small>
      </span>
      <span className="row">
        {one.current && <Badge tone="run" icon="check">This one</Badge>}
        <Button size="small" busy={busy} onClick={() => void end()}>{one.current ? "Sign out" : "End session"}</Button>
      </span>
    </li>
  );
}
