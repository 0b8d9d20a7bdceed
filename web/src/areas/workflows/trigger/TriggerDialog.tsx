/** Starts an execution: a form made from the schema of the input, or the input as JSON. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useEffect, useRef, useState } from "react";
import { useNavigate } from "react-router";

import { api } from "@/api/client";
import { asProblem, type Problem } from "@/api/problem";
import { Button, Dialog, DialogActions, FIRST, JsonView, ProblemNote, SkeletonLines, TextArea } from "@/components";
import { paths } from "@/paths";
import { session } from "@/session/session";
import { checkQuery, useRunning, type Workflow } from "../data";
import { draftOf } from "../editor/drafts";
import { hasForm, parsedJson, type Json, resolved, type Schema, startingValue, type Value } from "./form";
import { forgetUnsent, keepUnsent, lastInput, rememberInput, type Unsent, unsentTo } from "./remembered";
import { Members } from "./SchemaField";
import styles from "./Trigger.module.css";

interface TriggerProps {
  workflow: Workflow;
  open: boolean;
  onClose: () => void;
}

export function TriggerDialog({ workflow, open, onClose }: TriggerProps) {
  return (
    <Dialog open={open} onClose={onClose} title={`Trigger ${workflow.name}`}>
      <Asking workflow={workflow} onClose={onClose} />
    </Dialog>
  );
}

function Asking({ workflow, onClose }: Omit<TriggerProps, "open">) {
  const { version, text, isLoading } = useRunning(workflow);
  const check = useQuery({ ...checkQuery(text ?? ""), enabled: text !== undefined });
  // Without an answer one can still send JSON.
  if (check.isLoading || isLoading) return <SkeletonLines lines={3} />;
  return <Form workflow={workflow} version={version} schema={check.data?.input_schema} onClose={onClose} />;
}

function Form({ workflow, version, schema, onClose }: { workflow: Workflow; version: number; schema: unknown; onClose: () => void }) {
  const navigate = useNavigate();
  const cache = useQueryClient();
  const given = (typeof schema === "object" ? schema : null) as Schema | null;
  const form = hasForm(given) ? given : null;
  const [unsent] = useState(() => unsentTo(workflow.id));
  const [value, setValue] = useState<Value>(() => (unsent ? unsent.value : (lastInput(workflow.id) ?? (form ? startingValue(form, form) : undefined))));
  const [raw, setRaw] = useState(form === null || unsent?.raw === true);
  const [text, setText] = useState(() => unsent?.text ?? JSON.stringify(value ?? (given && startingValue(given, given)) ?? {}, null, 2));
  useKeptWhenSignedOut(workflow.id, { value, raw, text: raw ? text : JSON.stringify(value ?? {}, null, 2) });
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const holder = useRef<HTMLFormElement>(null);
  // What the form looks like may have been asked for after the dialog was open.
  useEffect(() => holder.current?.parentElement?.querySelector<HTMLElement>(FIRST)?.focus(), []);
  const key = useOnceKey();
  const parsed = parsedJson(text);
  const wrong = raw && "error" in parsed ? parsed.error : undefined;

  const turn = () => {
    if (raw && "value" in parsed) setValue(parsed.value);
    if (!raw) setText(JSON.stringify(value ?? {}, null, 2));
    setRaw(!raw);
  };
  const send = async (event: FormEvent) => {
    event.preventDefault();
    if (wrong) return;
    const input: Json = raw && "value" in parsed ? parsed.value : (value ?? {});
    setBusy(true);
    setProblem(null);
    try {
      const params = { path: { id: workflow.id }, header: { "Idempotency-Key": key(input) } };
      const started = await api.post("/api/v1/workflows/{id}/trigger", { params, body: { trigger_data: input } });
      rememberInput(workflow.id, input);
      void cache.invalidateQueries({ queryKey: ["workflow", workflow.id] });
      onClose();
      await navigate(paths.execution(started.id));
    } catch (error) {
      setProblem(asProblem(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <form ref={holder} className={styles["form"]} onSubmit={(event) => void send(event)}>
      <div className="spread">
        <span className="muted">Version {version} runs{workflow.status === "draft" ? ", not deployed yet" : ""}{draftOf(workflow.id) ? ", without your unsaved changes" : ""}.</span>
        {form && <Button size="small" kind="quiet" onClick={turn} disabled={Boolean(wrong)}>{raw ? "As a form" : "As JSON"}</Button>}
      </div>
      {raw || !form ? (
        <div className={styles["raw"]}>
          <TextArea label="Input" hint={form ? undefined : given ? "JSON, as the schema below says." : "JSON. This workflow does not say what it expects; {} is an empty input."} value={text} rows={10} spellCheck={false} error={wrong} autoFocus onChange={(event) => setText(event.target.value)} />
          {given && !form && <JsonView value={given} label="Schema of the input" />}
        </div>
      ) : (
        <>
          {form.description && <p className="muted">{form.description}</p>}
          <Members schema={resolved(form, form)} root={form} required value={value} onChange={setValue} />
        </>
      )}
      {problem && <ProblemNote problem={problem} />}
      <DialogActions>
        <Button onClick={onClose}>Not now</Button>
        <Button kind="primary" icon="play" type="submit" busy={busy}>Start</Button>
      </DialogActions>
    </form>
  );
}

/** Who has to sign in again finds the dialog as it was. */
function useKeptWhenSignedOut(workflow: string, now: Unsent): void {
  const latest = useRef(now);
  latest.current = now;
  useEffect(() => {
    forgetUnsent(workflow);
    return session.subscribe(() => session.state === "out" && keepUnsent(workflow, latest.current));
  }, [workflow]);
}

/** The same for the same input, while the dialog is open: an answer that was lost on its way starts nothing twice. */
function useOnceKey(): (input: Json) => string {
  const last = useRef({ input: "", key: "" });
  return (input) => {
    const text = JSON.stringify(input);
    if (last.current.key === "" || last.current.input !== text) last.current = { input: text, key: randomKey() };
    return last.current.key;
  };
}

// Not `crypto.randomUUID`: a console at plain http on another host has none.
const randomKey = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
