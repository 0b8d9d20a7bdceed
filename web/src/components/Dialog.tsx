import { type ReactNode, useEffect, useId, useRef, useState } from "react";

import { asProblem, type Problem } from "@/api/problem";
import { Button, IconButton } from "./Button";
import styles from "./Dialog.module.css";
import { ProblemNote } from "./ErrorState";

interface DialogProps {
  open: boolean;
  onClose: () => void;
  title: string;
  wide?: boolean;
  children: ReactNode;
}

/** Where somebody begins to write. */
export const FIRST = "form :is(input, textarea, select):not(:disabled, [type=radio]:not(:checked))";

/** The browser's own dialog: it keeps the focus, closes with Escape, and gives the focus back. */
export function Dialog({ open, onClose, title, wide, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const pressed = useRef<EventTarget | null>(null);
  const heading = useId();
  useEffect(() => {
    const element = dialog.current;
    if (!element) return;
    if (open && !element.open) {
      element.showModal();
      // By itself it would begin at the button that closes it.
      element.querySelector<HTMLElement>(FIRST)?.focus();
    }
    if (!open && element.open) element.close();
  }, [open]);
  return (
    <dialog
      ref={dialog}
      className={`${styles["dialog"]} ${wide ? styles["wide"] : ""}`}
      aria-labelledby={heading}
      onClose={onClose}
      onPointerDown={(event) => (pressed.current = event.target)}
      // Both: who selects text inside and lets go outside does not want to leave.
      onClick={(event) => event.target === dialog.current && pressed.current === dialog.current && onClose()}
    >
      {open && (
        <>
          <div className={styles["head"]}>
            <h2 id={heading}>{title}</h2>
            <IconButton label="Close" icon="cross" size="small" onClick={onClose} />
          </div>
          <div className={styles["body"]}>{children}</div>
        </>
      )}
    </dialog>
  );
}

export function DialogActions({ children }: { children: ReactNode }) {
  return <div className={styles["foot"]}>{children}</div>;
}

interface ConfirmProps {
  open: boolean;
  onClose: () => void;
  /** Rejects when it fails; the dialog stays open and says why. */
  onConfirm: () => Promise<unknown>;
  title: string;
  /** The verb on the button: "Delete project", never "OK". */
  action: string;
  danger?: boolean;
  children: ReactNode;
}

export function ConfirmDialog({ open, onClose, onConfirm, title, action, danger = true, children }: ConfirmProps) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const close = () => {
    setProblem(null);
    onClose();
  };
  const confirm = async () => {
    setBusy(true);
    setProblem(null);
    try {
      await onConfirm();
      close();
    } catch (error) {
      setProblem(asProblem(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog open={open} onClose={close} title={title}>
      <div>{children}</div>
      {problem && <ProblemNote problem={problem} />}
      <DialogActions>
        <Button onClick={close}>Keep as it is</Button>
        <Button kind={danger ? "danger" : "primary"} busy={busy} onClick={() => void confirm()}>
          {action}
        </Button>
      </DialogActions>
    </Dialog>
  );
}
