/** Somebody saved another definition meanwhile: what they changed, and what to do about it. */
import { lazy, Suspense } from "react";

import { Button, Dialog, DialogActions, Skeleton, Time } from "@/components";
import type { Tagged } from "../data";

const DiffView = lazy(() => import("./DiffView"));

interface ConflictProps {
  mine: string;
  theirs: Tagged | null;
  busy: boolean;
  onClose: () => void;
  onMine: (over: Tagged) => void;
  onTheirs: (taken: Tagged) => void;
}

export function Conflict({ mine, theirs, busy, onClose, onMine, onTheirs }: ConflictProps) {
  return (
    <Dialog open={theirs !== null} onClose={onClose} title="Somebody saved before you" wide>
      {theirs && (
        <div className="stack">
          <p>Version {theirs.workflow.version} was saved <Time at={theirs.workflow.updated_at} />, while you were writing. Nothing is lost: every version is kept.</p>
          <Suspense fallback={<Skeleton height="20rem" />}>
            <DiffView before={theirs.workflow.config_yaml} after={mine} labels={[`Theirs: version ${theirs.workflow.version}`, "Yours, not saved"]} />
          </Suspense>
          <DialogActions>
            <Button onClick={onClose}>Keep editing</Button>
            <Button kind="danger" onClick={() => onTheirs(theirs)}>Take theirs, drop mine</Button>
            <Button kind="primary" busy={busy} onClick={() => onMine(theirs)}>Save mine as version {theirs.workflow.version + 1}</Button>
          </DialogActions>
        </div>
      )}
    </Dialog>
  );
}
