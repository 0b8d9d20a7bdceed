import { Checkbox, Field, TextArea } from "@/components";
import type { Problem } from "@/api/problem";
import { faultOf } from "../Metadata";
import { type ConfigField, KINDS, MASK, shownOf } from "./kinds";

/** The fields of one type. A type that we do not know is told JSON. */
export function ConfigFields({ type, stored, problem }: { type: string; stored: Record<string, unknown>; problem: Problem | null }) {
  const kind = KINDS[type];
  if (!kind) return <Free stored={stored} problem={problem} />;
  return kind.fields.map((field) => <One key={field.name} field={field} stored={stored[field.name]} error={problem?.field(`config/${field.name}`)} />);
}

function One({ field, stored, error }: { field: ConfigField; stored: unknown; error: string | undefined }) {
  const common = { label: field.label, name: field.name, error, hint: field.hint, placeholder: field.placeholder, spellCheck: false, autoComplete: "off" };
  const shown = shownOf(field, stored);
  if (field.kind === "check") return <Checkbox name={field.name} label={field.label} defaultChecked={stored === undefined ? field.ticked : Boolean(stored)} />;
  if (field.kind === "lines" || field.kind === "area") return <TextArea {...common} rows={field.kind === "lines" ? 3 : 5} optional={!field.required} defaultValue={shown} style={{ fontFamily: "var(--mono)" }} />;
  if (field.kind === "secret") {
    return (
      <Field {...common} type="password" autoComplete="new-password" optional={!field.required} required={Boolean(field.required) && !stored}
        placeholder={stored ? MASK : ""} hint={stored ? "One is stored. Left empty, it stays." : field.hint} />
    );
  }
  return <Field {...common} type={field.kind === "url" ? "url" : "text"} optional={!field.required} required={field.required} defaultValue={shown} />;
}

function Free({ stored, problem }: { stored: Record<string, unknown>; problem: Problem | null }) {
  return (
    <TextArea
      label="Configuration"
      name="config"
      rows={8}
      style={{ fontFamily: "var(--mono)" }}
      spellCheck={false}
      defaultValue={JSON.stringify(stored, null, 2)}
      hint={`A JSON object. ${MASK} keeps a stored secret.`}
      error={problem?.field("config")}
      onInput={(event) => event.currentTarget.setCustomValidity(faultOf(event.currentTarget.value) ?? "")}
    />
  );
}
