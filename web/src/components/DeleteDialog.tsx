import { type FormEvent, type ReactNode, useState } from "react";

import { asProblem, type Problem } from "@/api/problem";
import { Button } from "./Button";
import { Dialog, DialogActions } from "./Dialog";
import { ProblemNote } from "./ErrorState";
import { Checkbox, Field } from "./Field";

interface DeleteProps {
  open: boolean;
  onClose: () => void;
  /** Rejects when it fails. A 409 (something in it is active) offers to delete with `force`. */
  onDelete: (force: boolean) => Promise<unknown>;
  /** "project", "workflow". */
  what: string;
  /** What is typed to confirm. */
  name: string;
  /** What `force` would do, for the box that is then shown: "Cancel them and delete all the same". Without it there is none. */
  force?: string;
  /** What goes with it. */
  children: ReactNode;
}

/** Before something goes for good, with all that is in it: its name is typed. */
export function DeleteDialog({ open, onClose, what, ...rest }: DeleteProps) {
  return (
    <Dialog open={open} onClose={onClose} title={`Delete this ${what}?`}>
      <Confirming onClose={onClose} what={what} {...rest} />
    </Dialog>
  );
}

function Confirming({ onClose, onDelete, what, name, force, children }: Omit<DeleteProps, "open">) {
  const [typed, setTyped] = useState("");
  const [forced, setForced] = useState(false);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const stuck = force !== undefined && problem?.status === 409;
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    try {
      await onDelete(forced);
    } catch (error) {
      setProblem(asProblem(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <form className="stack" onSubmit={(event) => void submit(event)}>
      <div>{children}</div>
      <Field label={<>Type <b>{name}</b> to confirm</>} value={typed} onChange={(event) => setTyped(event.target.value)} autoComplete="off" spellCheck={false} autoFocus />
      {problem && <ProblemNote problem={problem} />}
      {stuck && <Checkbox label={force} checked={forced} onChange={(event) => setForced(event.target.checked)} />}
      <DialogActions>
        <Button onClick={onClose}>Keep it</Button>
        <Button kind="danger" type="submit" busy={busy} disabled={typed.trim() !== name.trim() || (stuck && !forced)}>Delete {what}</Button>
      </DialogActions>
    </form>
  );
}
