import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useNavigate } from "react-router";

import { api } from "@/api/client";
import { Button, Dialog, DialogActions, Field, ProblemNote } from "@/components";
import { useSubmit } from "@/lib/useSubmit";
import { paths } from "@/paths";
import styles from "./Team.module.css";

export function NewOrganization({ company, size }: { company: string; size?: "small" }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button icon="plus" size={size} onClick={() => setOpen(true)}>New organization</Button>
      <Dialog open={open} onClose={() => setOpen(false)} title="New organization">
        <Form company={company} onClose={() => setOpen(false)} />
      </Dialog>
    </>
  );
}

function Form({ company, onClose }: { company: string; onClose: () => void }) {
  const cache = useQueryClient();
  const navigate = useNavigate();
  const { busy, problem, onSubmit } = useSubmit(async (field) => {
    const made = await api.post("/api/v1/companies/{cid}/organizations", { params: { path: { cid: company } }, body: { name: field("name") } });
    await cache.invalidateQueries({ queryKey: ["organizations", company] });
    await navigate(paths.company(made.id));
  });
  return (
    <form className={styles["form"]} onSubmit={onSubmit}>
      <p className="muted">A part of the company with projects and members of its own. Members of the company keep their role in it.</p>
      <Field label="Name" name="name" required autoFocus maxLength={255} placeholder="Logistics" error={problem?.field("name")} />
      {problem && <ProblemNote problem={problem} />}
      <DialogActions>
        <Button onClick={onClose}>Cancel</Button>
        <Button kind="primary" type="submit" busy={busy}>Create organization</Button>
      </DialogActions>
    </form>
  );
}
