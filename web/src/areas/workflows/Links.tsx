/** What is started when this workflow ends: adding and removing links. */
import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { api, type Schema } from "@/api/client";
import { Button, ConfirmDialog, Dialog, DialogActions, EmptyState, ErrorState, Field, IconButton, ProblemNote, Select, SkeletonLines, Table, TextArea, toast } from "@/components";
import { useSubmit } from "@/lib/useSubmit";
import { linksQuery } from "./data";
import { LINK_WORDS, Target } from "./LinkList";
import styles from "./Links.module.css";
import { useWorkflow } from "./Workflow";

type LinkType = "completed" | "failed" | "finished" | "dependency";

export function Component() {
  const { id, may } = useWorkflow();
  const links = useQuery(linksQuery(id));
  const [adding, setAdding] = useState(false);
  const [removing, setRemoving] = useState<Schema<"Link"> | null>(null);
  const cache = useQueryClient();
  if (links.error) return <ErrorState error={links.error} onRetry={() => void links.refetch()} />;
  if (!links.data) return <SkeletonLines lines={4} />;
  const add = may("editor") ? <Button icon="plus" kind={links.data.total ? "plain" : "primary"} onClick={() => setAdding(true)}>Add link</Button> : undefined;
  const remove = async () => {
    if (!removing) return;
    await api.delete("/api/v1/workflows/{id}/links/{linkId}", { params: { path: { id, linkId: removing.id } } });
    toast("The link is removed.");
    await cache.invalidateQueries({ queryKey: linksQuery(id).queryKey });
  };
  return (
    <div className="stack">
      {links.data.total > 0 && (
        <div className="spread">
          <p className="muted">When an execution of this workflow ends, these are started with what it gave.</p>
          {add}
        </div>
      )}
      <Table
        label="Links"
        rows={links.data.items}
        rowKey={(row) => row.id}
        empty={<EmptyState icon="link" title="No links yet" actions={add}>A link starts another workflow when this one completes, fails, or ends in any way: an invoice after an order, a message after a failure.</EmptyState>}
        columns={[
          { key: "target", head: "Starts", width: "minmax(7rem, 2fr)", cell: (row) => <Target id={row.target_workflow_id} /> },
          { key: "type", head: "When", width: "minmax(9.8rem, 1.4fr)", cell: (row) => LINK_WORDS[row.link_type] ?? row.link_type },
          { key: "input", head: "With", width: "minmax(8rem, 2fr)", wide: true, cell: (row) => (typeof row.config["input"] === "string" ? <code title={row.config["input"]}>{row.config["input"]}</code> : <span className="muted">the output as it is</span>) },
          { key: "remove", head: <span className="visually-hidden">Actions</span>, width: "3.5rem", align: "end", cell: (row) => may("editor") && <IconButton label="Remove link" icon="trash" size="small" onClick={() => setRemoving(row)} /> },
        ]}
      />
      <Dialog open={adding} onClose={() => setAdding(false)} title="Add a link"><AddLink id={id} onClose={() => setAdding(false)} /></Dialog>
      <ConfirmDialog open={removing !== null} onClose={() => setRemoving(null)} onConfirm={remove} title="Remove this link?" action="Remove link">
        {removing && <p><Target id={removing.target_workflow_id} /> is no longer started by this workflow. What runs already goes on.</p>}
      </ConfirmDialog>
    </div>
  );
}

function AddLink({ id, onClose }: { id: string; onClose: () => void }) {
  const cache = useQueryClient();
  const [sought, setSought] = useState("");
  const found = useQuery({
    queryKey: ["workflows", "targets", sought],
    queryFn: ({ signal }) => api.get("/api/v1/workflows", { params: { query: { page_size: 8, ...(sought ? { q: sought } : {}) } }, signal }),
    placeholderData: keepPreviousData,
  });
  const { busy, problem, onSubmit } = useSubmit(async (field) => {
    const input = field("input").trim();
    await api.post("/api/v1/workflows/{id}/links", {
      params: { path: { id } },
      body: { target_workflow_id: field("target"), link_type: field("type") as LinkType, config: input ? { input } : {} },
    });
    toast("The link is added.");
    await cache.invalidateQueries({ queryKey: linksQuery(id).queryKey });
    onClose();
  });
  const items = found.data?.items ?? [];
  return (
    <form className={styles["form"]} onSubmit={onSubmit}>
      <Field label="Which workflow is started?" type="search" placeholder="Find by name" value={sought} maxLength={200} autoFocus onChange={(event) => setSought(event.target.value)} />
      <div className={styles["found"]} role="radiogroup" aria-label="Workflows found">
        {items.map((one) => (
          <label key={one.id}><input type="radio" name="target" value={one.id} required /> <span>{one.name}</span> <small>{one.id === id ? "this one" : one.status}</small></label>
        ))}
        {found.data && items.length === 0 && <p className="muted" style={{ padding: "0.5rem 0.75rem" }}>No workflow that you may see has this name.</p>}
      </div>
      <Select label="When?" name="type" defaultValue="completed">
        {Object.entries(LINK_WORDS).map(([type, words]) => <option key={type} value={type}>{words}</option>)}
      </Select>
      <TextArea label="Its input" name="input" optional rows={2} spellCheck={false} placeholder="{ order: .id }" hint="A jq expression over this workflow's output. Left empty: the output as it is." error={problem?.field("config/input")} />
      {problem && <ProblemNote problem={problem} />}
      <DialogActions>
        <Button onClick={onClose}>Not now</Button>
        <Button kind="primary" type="submit" busy={busy}>Add link</Button>
      </DialogActions>
    </form>
  );
}
