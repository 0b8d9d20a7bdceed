import { useQueryClient } from "@tanstack/react-query";

import { api } from "@/api/client";
import { Button, Dialog, DialogActions, Field, ProblemNote, TextArea, toast } from "@/components";
import { useSubmit } from "@/lib/useSubmit";
import styles from "./Team.module.css";

/** A new secret, or (with a name) another value for one. */
export function SecretDialog({ asked, project, onClose }: { asked: { name: string } | null; project: string; onClose: () => void }) {
  return (
    <Dialog open={asked !== null} onClose={onClose} title={asked?.name ? `Replace ${asked.name}` : "New secret"}>
      {asked && <Form name={asked.name} project={project} onClose={onClose} />}
    </Dialog>
  );
}

function Form({ name, project, onClose }: { name: string; project: string; onClose: () => void }) {
  const cache = useQueryClient();
  const { busy, problem, onSubmit } = useSubmit(async (field) => {
    const wanted = name || field("name").trim();
    await api.put("/api/v1/projects/{id}/secrets/{name}", { params: { path: { id: project, name: wanted } }, body: { value: field("value") } });
    onClose();
    toast(name ? `${wanted} has its new value` : `${wanted} is set`);
    await cache.invalidateQueries({ queryKey: ["secrets", project] });
  });
  return (
    <form className={styles["form"]} onSubmit={onSubmit}>
      {name ? (
        <p className="muted">The next run uses the new value; the old one is gone.</p>
      ) : (
        <Field label="Name" name="name" required autoFocus autoComplete="off" spellCheck={false} maxLength={128} pattern="[A-Za-z_][A-Za-z0-9_.\-]*"
          placeholder="SMTP_PASSWORD" hint="Letters, digits, _ . and -; an existing one is replaced." error={problem?.field("name")} />
      )}
      <TextArea label="Value" name="value" required rows={3} autoComplete="off" spellCheck={false} autoFocus={Boolean(name)} hint="Kept as it is, line breaks included." error={problem?.field("value")} />
      {problem && <ProblemNote problem={problem} />}
      <DialogActions>
        <Button onClick={onClose}>Cancel</Button>
        <Button kind="primary" type="submit" busy={busy}>{name ? "Replace value" : "Set secret"}</Button>
      </DialogActions>
    </form>
  );
}
