/** What one can do to an execution, by its state and one's role. */
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useNavigate } from "react-router";

import { api } from "@/api/client";
import { Button, ConfirmDialog, toast, toastProblem } from "@/components";
import { paths } from "@/paths";
import { type Execution, hasEnded, statusOf } from "./data";

export function Actions({ execution, mayRun }: { execution: Execution; mayRun: boolean }) {
  const [cancelling, setCancelling] = useState(false);
  const [busy, setBusy] = useState(false);
  const cache = useQueryClient();
  const again = useRerun(execution);
  if (!mayRun) return null;
  const params = { path: { id: execution.id } };
  const now = (said: Execution) => cache.setQueryData(["execution", execution.id], said);
  const ask = async (what: () => Promise<Execution>, news: string) => {
    setBusy(true);
    try {
      now(await what());
      toast(news);
    } catch (error) {
      toastProblem(error);
    } finally {
      setBusy(false);
    }
  };
  if (hasEnded(execution.status)) return <Button icon="refresh" busy={again.busy} onClick={() => void again.rerun()}>Run again</Button>;
  const paused = statusOf(execution) === "paused";
  return (
    <>
      {paused
        ? <Button kind="primary" icon="play" busy={busy} onClick={() => void ask(() => api.post("/api/v1/executions/{id}/resume", { params }), "It goes on")}>Resume</Button>
        : <Button icon="pause" busy={busy} onClick={() => void ask(() => api.post("/api/v1/executions/{id}/pause", { params }), "No further step begins")}>Pause</Button>}
      <Button kind="danger" icon="stop" onClick={() => setCancelling(true)}>Cancel</Button>
      <ConfirmDialog
        open={cancelling}
        onClose={() => setCancelling(false)}
        title="Cancel this execution?"
        action="Cancel execution"
        onConfirm={async () => {
          now(await api.post("/api/v1/executions/{id}/cancel", { params }));
          toast("Cancelled");
        }}
      >
        What is under way is stopped, and nothing further begins. What was done is not undone. It can be run again afterwards.
      </ConfirmDialog>
    </>
  );
}

/** Starts the same version with the same input again, all of it or from a step on, and goes there. */
export function useRerun(execution: Execution) {
  const [busy, setBusy] = useState(false);
  const go = useNavigate();
  const rerun = async (from?: string) => {
    setBusy(true);
    try {
      const made = await api.post("/api/v1/executions/{id}/rerun", { params: { path: { id: execution.id } }, body: from ? { from } : {} });
      toast(from ? `Runs again from ${from.split("/").at(-1)}` : "Runs again");
      await go(paths.execution(made.id));
    } catch (error) {
      toastProblem(error);
    } finally {
      setBusy(false);
    }
  };
  return { busy, rerun };
}
