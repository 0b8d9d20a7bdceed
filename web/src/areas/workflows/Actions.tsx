/** Deploy, stop, trigger: at the top of every page of a workflow. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { api } from "@/api/client";
import { Button, Checkbox, ConfirmDialog, toast, toastProblem } from "@/components";
import { changed, statusQuery } from "./data";
import { draftOf } from "./editor/drafts";
import type { WorkflowContext } from "./Workflow";

export function Actions({ context }: { context: WorkflowContext }) {
  const { workflow, id, may } = context;
  const [stopping, setStopping] = useState(false);
  const { deploy, busy } = useDeploy(id);
  const [unsaved, setUnsaved] = useState(false);
  const runs = workflow.status === "active";
  const newer = workflow.deployed_version !== workflow.version;
  const startable = workflow.status === "draft" || runs;
  return (
    <>
      {may("admin") && runs && <Button icon="stop" onClick={() => setStopping(true)}>Stop</Button>}
      {may("admin") && (!runs || newer) && (
        <Button icon="up" busy={busy} disabled={!workflow.validation.valid} title={workflow.validation.valid ? undefined : "It is not valid yet: the editor says why"} onClick={() => (draftOf(id) ? setUnsaved(true) : void deploy())}>
          {newer && runs ? `Deploy version ${workflow.version}` : "Deploy"}
        </Button>
      )}
      {may("editor") && (
        <Button kind="primary" icon="play" disabled={!startable || (workflow.status === "draft" && !workflow.validation.valid)}
          title={startable ? undefined : "It is stopped: deploy it first"} onClick={context.trigger}>
          Trigger
        </Button>
      )}
      <ConfirmDialog open={unsaved} onClose={() => setUnsaved(false)} onConfirm={deploy} title="Deploy without what you changed?" action={`Deploy version ${workflow.version}`} danger={false}>
        <p>What you changed in the editor is not saved, and not in version {workflow.version}. Save it first to deploy it.</p>
      </ConfirmDialog>
      <StopDialog id={id} open={stopping} onClose={() => setStopping(false)} />
    </>
  );
}

function useDeploy(id: string) {
  const cache = useQueryClient();
  const [busy, setBusy] = useState(false);
  const deploy = async () => {
    setBusy(true);
    try {
      const now = await api.post("/api/v1/workflows/{id}/deploy", { params: { path: { id } } });
      toast(`Version ${now.deployed_version ?? now.version} is deployed.`);
    } catch (error) {
      toastProblem(error);
    } finally {
      setBusy(false);
      changed(cache, id);
    }
  };
  return { deploy, busy };
}

function StopDialog({ id, open, onClose }: { id: string; open: boolean; onClose: () => void }) {
  const cache = useQueryClient();
  const status = useQuery({ ...statusQuery(id), enabled: open });
  const [cancel, setCancel] = useState(false);
  const running = status.data?.running ?? 0;
  const stop = async () => {
    await api.post("/api/v1/workflows/{id}/stop", { params: { path: { id } }, body: { cancel_running: cancel } });
    toast("Stopped. Deploy it to start it again.");
    changed(cache, id);
  };
  return (
    <ConfirmDialog open={open} onClose={onClose} onConfirm={stop} title="Stop this workflow?" action="Stop workflow" danger={cancel}>
      <div className="stack">
        <p>Its schedule and its triggers end, and nobody can start it until it is deployed again.</p>
        {running > 0 && (
          <Checkbox label={`Cancel what is running, too (${running} now)`} checked={cancel} onChange={(event) => setCancel(event.target.checked)} />
        )}
      </div>
    </ConfirmDialog>
  );
}
