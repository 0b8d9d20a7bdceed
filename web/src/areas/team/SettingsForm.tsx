/** Name, slug, description and metadata of a company, an organization or a project. */
import { useQueryClient } from "@tanstack/react-query";

import { Button, CopyButton, Field, ProblemNote, Section, TextArea, Time, toast } from "@/components";
import { useSubmit } from "@/lib/useSubmit";
import type { Place } from "./access";
import { type Anything, Metadata, metadataFrom } from "./Metadata";
import styles from "./Team.module.css";

export interface Settings {
  id: string;
  name: string;
  slug: string;
  description?: string;
  metadata: Record<string, unknown>;
  created_at: string;
  updated_at: string;
}

interface Change {
  name: string;
  slug: string;
  description?: string;
  metadata: Anything;
}

export function SettingsForm({ place, settings, editable, save }: { place: Place; settings: Settings; editable: boolean; save: (change: Change) => Promise<unknown> }) {
  const cache = useQueryClient();
  const { busy, problem, onSubmit } = useSubmit(async (field) => {
    const described = settings.description === undefined ? {} : { description: field("description") };
    await save({ name: field("name").trim(), slug: field("slug").trim(), metadata: metadataFrom(field("metadata")), ...described });
    toast("Saved");
    for (const key of [place.kind, "companies", "organizations", "projects"]) await cache.invalidateQueries({ queryKey: [key] });
  });
  return (
    <Section title="General">
      <form className={`card ${styles["form"]}`} onSubmit={onSubmit}>
        <Field label="Name" name="name" required maxLength={255} defaultValue={settings.name} disabled={!editable} error={problem?.field("name")} />
        <Field label="Slug" name="slug" required defaultValue={settings.slug} disabled={!editable} spellCheck={false} error={problem?.field("slug")}
          hint="A short name of lower-case letters, digits and hyphens, for programs." />
        {settings.description !== undefined && (
          <TextArea label="Description" name="description" rows={3} defaultValue={settings.description} disabled={!editable} error={problem?.field("description")} />
        )}
        <Metadata value={settings.metadata} disabled={!editable} />
        {problem && <ProblemNote problem={problem} />}
        {editable && <div><Button kind="primary" type="submit" busy={busy}>Save</Button></div>}
        <dl className={styles["facts"]}>
          <dt>Id</dt>
          <dd><code>{settings.id}</code> <CopyButton text={settings.id} label="Copy id" /></dd>
          <dt>Created</dt>
          <dd><Time at={settings.created_at} style="exact" /></dd>
          <dt>Changed</dt>
          <dd><Time at={settings.updated_at} /></dd>
        </dl>
      </form>
    </Section>
  );
}
