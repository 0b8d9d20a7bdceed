/** The definition as text beside its graph: each selects the other, and what is wrong is said as one types. */
import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { useSearchParams } from "react-router";

import { asProblem } from "@/api/problem";
import { Badge, Button, Skeleton, toast, toastProblem } from "@/components";
import { type Flow, Graph, taskAtLine } from "@/graph";
import { changed, changeWorkflow, checkQuery, schemaQuery, type Tagged, workflowQuery } from "../data";
import { useWorkflow } from "../Workflow";
import { Conflict } from "./Conflict";
import styles from "./Editor.module.css";
import { Findings } from "./Findings";
import { Guard } from "./Guard";
import { draftOf, forgetDraft, keepDraft } from "./drafts";
import type { Schema } from "./schema";

const CodeEditor = lazy(() => import("./CodeEditor"));

const PAUSE = 350; // milliseconds without a key, before the text is checked

export function Component() {
  const { id, workflow, etag, may } = useWorkflow();
  const cache = useQueryClient();
  // What the text was written over: kept when the page learns of a newer one, so that saving says so.
  const [draft] = useState(() => draftOf(id));
  const [base, setBase] = useState<Tagged>(draft?.base ?? { workflow, etag });
  const [text, setText] = useState(draft?.text ?? workflow.config_yaml);
  const [saving, setSaving] = useState(false);
  const [theirs, setTheirs] = useState<Tagged | null>(null);
  const [shown, setShown] = useState<"text" | "graph">("text");
  const dirty = text !== base.workflow.config_yaml;

  useEffect(() => {
    if (dirty) keepDraft(id, { text, base });
    else forgetDraft(id);
  }, [dirty, id, text, base]);

  // Somebody else saved, and nothing is unsaved here: follow.
  useEffect(() => {
    if (dirty || etag === base.etag) return;
    setBase({ workflow, etag });
    setText(workflow.config_yaml);
  }, [dirty, etag, base.etag, workflow]);

  const settled = useSettled(text, PAUSE);
  const check = useQuery({ ...checkQuery(settled), placeholderData: keepPreviousData });
  const schema = useCallback(() => cache.ensureQueryData(schemaQuery).then((data) => data as Schema, () => null), [cache]);
  useEffect(() => void schema(), [schema]);
  const graph = useLast(check.data?.graph ?? null);
  const findings = useMemo(() => check.data?.errors ?? [], [check.data]);
  const selection = useSelection(graph);

  const save = useCallback(async (over: Tagged) => {
    setSaving(true);
    try {
      const now = await changeWorkflow(id, over.etag, { config_yaml: text });
      setBase(now);
      setTheirs(null);
      changed(cache, id, now);
      toast(`Saved as version ${now.workflow.version}.`);
    } catch (error) {
      const problem = asProblem(error);
      if (problem.status !== 412) return toastProblem(problem);
      const { workflow: latest, etag: tag } = await cache.fetchQuery({ ...workflowQuery(id), staleTime: 0 });
      // Only its name or its status changed: nothing that saving would overwrite.
      if (latest.config_yaml === over.workflow.config_yaml) return void save({ workflow: latest, etag: tag });
      setTheirs({ workflow: latest, etag: tag });
    } finally {
      setSaving(false);
    }
  }, [cache, id, text]);
  const trySave = () => {
    if (dirty && may("editor") && !saving) void save(base);
  };

  useSaveKey(trySave);

  const latest = base.workflow;
  const changing = text !== settled || check.isFetching;
  return (
    <div className={styles["editor"]}>
      <div className={styles["bar"]}>
        <span className={styles["said"]} role="status">
          {dirty ? <Badge tone="warn" icon="edit">Unsaved changes</Badge> : <Badge icon="check">Version {latest.version}, saved</Badge>}
          <Verdict valid={check.data?.valid} errors={findings.filter((one) => one.severity === "error").length} changing={changing} failed={Boolean(check.error)} />
        </span>
        <span className={styles["switch"]}>
          <Button size="small" aria-pressed={shown === "text"} onClick={() => setShown("text")}>Text</Button>
          <Button size="small" aria-pressed={shown === "graph"} onClick={() => setShown("graph")}>Graph</Button>
        </span>
        {dirty && <Button size="small" kind="quiet" onClick={() => setText(latest.config_yaml)}>Discard changes</Button>}
        {may("editor") ? <Button size="small" kind={dirty ? "primary" : "plain"} disabled={!dirty} busy={saving} title="Ctrl-S" onClick={trySave}>Save</Button> : <span className="muted">You may look, not change.</span>}
      </div>
      <div className={styles["sideBySide"]} data-shown={shown}>
        <div className={styles["text"]}>
          <Suspense fallback={<Skeleton height="100%" />}>
            <CodeEditor value={text} label="Definition, YAML. Escape, then Tab leaves the editor." readOnly={!may("editor")} findings={findings} schema={schema}
              chosen={selection.lines} goTo={selection.goTo} onChange={setText} onLine={selection.atLine} onSave={trySave} />
          </Suspense>
          <Findings findings={findings} onGo={selection.goToLine} />
        </div>
        <div className={styles["graph"]}>
          {graph ? (
            <Graph graph={graph} label={`Graph of ${workflow.name}`} selected={selection.task} onSelect={selection.select} />
          ) : (
            <div className={styles["none"]}>{check.isPending ? <Skeleton height="100%" /> : <p>The graph appears as soon as the definition is valid.</p>}</div>
          )}
          {graph && check.data && !check.data.graph && <div className={styles["stale"]}>As it was when it was last valid</div>}
        </div>
      </div>
      <Guard dirty={dirty} onLeave={() => forgetDraft(id)} />
      <Conflict mine={text} theirs={theirs} busy={saving} onClose={() => setTheirs(null)}
        onMine={(over) => void save(over)}
        onTheirs={(taken) => { setBase(taken); setText(taken.workflow.config_yaml); setTheirs(null); }} />
    </div>
  );
}

function Verdict({ valid, errors, changing, failed }: { valid: boolean | undefined; errors: number; changing: boolean; failed: boolean }) {
  if (failed) return <Badge tone="warn" icon="alert">Not checked: the server did not answer</Badge>;
  if (valid === undefined) return <Badge>Checking…</Badge>;
  const words = valid ? <Badge tone="ok" icon="check">Valid</Badge> : <Badge tone="bad" icon="alert">{errors === 1 ? "1 problem" : `${errors} problems`}</Badge>;
  return <span className={changing ? styles["changing"] : undefined}>{words}</span>;
}

/** Ctrl-S saves wherever one is on the page: the browser would save the page. */
function useSaveKey(save: () => void): void {
  const now = useRef(save);
  now.current = save;
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== "s" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey || event.defaultPrevented) return;
      event.preventDefault();
      now.current();
    };
    window.addEventListener("keydown", pressed);
    return () => window.removeEventListener("keydown", pressed);
  }, []);
}

/** A value once it has stayed the same for a while. */
function useSettled(value: string, wait: number): string {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), wait);
    return () => clearTimeout(timer);
  }, [value, wait]);
  return settled;
}

/** The last graph that there was. */
function useLast(graph: Flow | null): Flow | null {
  const [last, setLast] = useState(graph);
  if (graph && graph !== last) setLast(graph);
  return graph ?? last;
}

/** Which task is selected: in the address, in the text and in the graph. */
function useSelection(graph: Flow | null) {
  const [search, setSearch] = useSearchParams();
  const task = search.get("task");
  const [goTo, setGoTo] = useState<{ line: number; column?: number } | null>(null);
  const [arrived, setArrived] = useState(false);
  const node = useMemo(() => graph?.nodes.find((one) => one.reference === task && one.line !== null), [graph, task]);
  // Whoever comes by a link to a task sees it.
  useEffect(() => {
    if (arrived || !graph) return;
    setArrived(true);
    if (node?.line) setGoTo({ line: node.line });
  }, [arrived, graph, node]);
  const put = (reference: string | null) => {
    if (reference === task) return;
    setSearch((was) => {
      const now = new URLSearchParams(was);
      if (reference) now.set("task", reference);
      else now.delete("task");
      return now;
    }, { replace: true, preventScrollReset: true });
  };
  return {
    task,
    lines: node?.line && node.end_line ? ([node.line, node.end_line] as const) : null,
    goTo,
    goToLine: (line: number, column: number) => setGoTo({ line, column }),
    atLine: (line: number) => graph && put(taskAtLine(graph, line)),
    select: (reference: string | null) => {
      put(reference);
      const line = graph?.nodes.find((one) => one.reference === reference)?.line;
      if (line) setGoTo({ line });
    },
  };
}
