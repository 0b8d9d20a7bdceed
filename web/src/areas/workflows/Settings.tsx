/** Name, slug and description of a workflow, and its end. */
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useNavigate } from "react-router";

import { api } from "@/api/client";
import { Button, CopyButton, DeleteDialog, Field, ProblemNote, Section, TextArea, Time, toast } from "@/components";
import { useSubmit } from "@/lib/useSubmit";
import { paths } from "@/paths";
import { changed, changeWorkflow } from "./data";
import { useWorkflow } from "./Workflow";
import styles from "./Workflows.module.css";

export function Component() {
  const { id, workflow, may } = useWorkflow();
  return (
    <div className={`stack ${styles["narrow"]}`}>
      <About key={workflow.updated_at} />
      <Section title="For the API">
        <div className="card stack">
          <div className="spread"><span>Id <code>{id}</code></span><CopyButton text={id} label="Copy the id" /></div>
          <p className="muted">Made <Time at={workflow.created_at} style="exact" />, changed <Time at={workflow.updated_at} />.</p>
        </div>
      </Section>
      {may("owner") && <Ending />}
    </div>
  );
}

function About() {
  const { id, workflow, etag, may } = useWorkflow();
  const cache = useQueryClient();
  const { busy, problem, onSubmit } = useSubmit(async (field) => {
    const now = await changeWorkflow(id, etag, { name: field("name"), slug: field("slug"), description: field("description") });
    toast("Saved.");
    changed(cache, id, now);
  });
  const locked = !may("editor");
  return (
    <form className="card stack" onSubmit={onSubmit}>
      {locked && <p className="muted">You may look, not change: that needs the role editor.</p>}
      <Field label="Name" name="name" required maxLength={255} defaultValue={workflow.name} disabled={locked} error={problem?.field("name")} />
      <Field label="Slug" name="slug" required maxLength={255} defaultValue={workflow.slug} disabled={locked} hint="Small letters, digits and hyphens; unique in the project." error={problem?.field("slug")} />
      <TextArea label="Description" name="description" optional rows={3} defaultValue={workflow.description} disabled={locked} error={problem?.field("description")} />
      {problem && <ProblemNote problem={problem} />}
      {!locked && <div><Button kind="primary" type="submit" busy={busy}>Save</Button></div>}
    </form>
  );
}

function Ending() {
  const { id, workflow } = useWorkflow();
  const [open, setOpen] = useState(false);
  const cache = useQueryClient();
  const navigate = useNavigate();
  const remove = async (force: boolean) => {
    await api.delete("/api/v1/workflows/{id}", { params: { path: { id }, query: force ? { force: "true" } : {} } });
    toast(`${workflow.name} is deleted.`);
    await navigate(paths.project(workflow.project_id));
    cache.removeQueries({ queryKey: ["workflow", id] });
    void cache.invalidateQueries({ queryKey: ["workflows"] });
  };
  return (
    <Section title="Delete">
      <div className={`card stack ${styles["danger"]}`}>
        <p>Everything of it goes: versions, executions, logs and events. This cannot be undone.</p>
        <div><Button kind="danger" icon="trash" onClick={() => setOpen(true)}>Delete workflow</Button></div>
      </div>
      <DeleteDialog open={open} onClose={() => setOpen(false)} onDelete={remove} what="workflow" name={workflow.name} force="Stop it, cancel what runs, and delete it all the same">
        <p>Its versions, executions, logs and events go with it.</p>
      </DeleteDialog>
    </Section>
  );
}
