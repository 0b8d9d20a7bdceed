import { Button, Dialog, DialogActions, Field, ProblemNote, toast } from "@/components";
import { useSubmit } from "@/lib/useSubmit";
import { session } from "@/session/session";
import styles from "./Me.module.css";

interface Directory {
  name: string;
  asks?: string | undefined;
}

/** A directory has no page of its own to go to: who one is there is asked for here, and sent there once. */
export function LinkDirectory({ asked, onClose, onLinked }: { asked: Directory | null; onClose: () => void; onLinked: () => Promise<unknown> }) {
  return (
    <Dialog open={asked !== null} onClose={onClose} title={`Link ${asked?.name ?? ""}`}>
      {asked?.asks && <Form name={asked.name} url={asked.asks} onClose={onClose} onLinked={onLinked} />}
    </Dialog>
  );
}

function Form({ name, url, onClose, onLinked }: { name: string; url: string; onClose: () => void; onLinked: () => Promise<unknown> }) {
  const { busy, problem, onSubmit } = useSubmit(async (field) => {
    await session.linkAt(url, field("username"), field("password"));
    await onLinked();
    onClose();
    toast(`${name} opens your account from now on`);
  });
  return (
    <form className={styles["form"]} onSubmit={onSubmit}>
      <p className="muted">With the user name and password that you have there. They are checked and not kept.</p>
      <Field label="User name" name="username" autoComplete="off" spellCheck={false} required />
      <Field label="Password" name="password" type="password" autoComplete="off" required />
      {problem && <ProblemNote problem={problem} />}
      <DialogActions>
        <Button onClick={onClose}>Cancel</Button>
        <Button kind="primary" type="submit" busy={busy}>Link</Button>
      </DialogActions>
    </form>
  );
}
