import { useQuery, useQueryClient } from "@tanstack/react-query";

import { api, type Schema } from "@/api/client";
import { meQuery } from "@/api/me";
import { Button, CopyButton, ErrorState, Field, Icon, ProblemNote, Section, SkeletonLines, Time, toast } from "@/components";
import { choose, type Theme, useTheme } from "@/frame/theme";
import { useSubmit } from "@/lib/useSubmit";
import teamStyles from "../team/Team.module.css";
import styles from "./Me.module.css";
import { MePage } from "./MePage";

export function Component() {
  const me = useQuery(meQuery);
  return (
    <MePage title="Profile">
      {me.error ? <ErrorState error={me.error} onRetry={() => void me.refetch()} /> : !me.data ? <SkeletonLines lines={3} height="4rem" /> : <Profile me={me.data} />}
      <Section title="Theme"><Themes /></Section>
    </MePage>
  );
}

function Profile({ me }: { me: Schema<"User"> }) {
  const cache = useQueryClient();
  const { busy, problem, onSubmit } = useSubmit(async (field) => {
    const changed = await api.put("/api/v1/auth/me", { body: { display_name: field("display_name").trim(), avatar_url: field("avatar_url").trim() } });
    cache.setQueryData(meQuery.queryKey, changed);
    toast("Saved");
  });
  return (
    <Section title="About you">
      <form className={`card ${styles["form"]}`} onSubmit={onSubmit}>
        <Field label="Name" name="display_name" autoComplete="name" maxLength={255} defaultValue={me.display_name} hint="As others see you in lists of members." error={problem?.field("display_name")} />
        <Field label="Picture" name="avatar_url" type="url" optional defaultValue={me.avatar_url} placeholder="https://…" error={problem?.field("avatar_url")}
          hint="An address that other programs may show. This console loads nothing from other sites." />
        {problem && <ProblemNote problem={problem} />}
        <div><Button kind="primary" type="submit" busy={busy}>Save</Button></div>
        <dl className={teamStyles["facts"]}>
          <dt>Email</dt>
          <dd>{me.email}</dd>
          <dt>Id</dt>
          <dd><code>{me.id}</code> <CopyButton text={me.id} label="Copy id" /></dd>
          <dt>With us since</dt>
          <dd><Time at={me.created_at} style="exact" /></dd>
          <dt>Last sign-in</dt>
          <dd><Time at={me.last_login_at} /></dd>
        </dl>
      </form>
    </Section>
  );
}

const THEMES: [Theme, string, "gear" | "sun" | "moon"][] = [["system", "As the system", "gear"], ["light", "Light", "sun"], ["dark", "Dark", "moon"]];

function Themes() {
  const theme = useTheme();
  return (
    <fieldset className={styles["themes"]}>
      <legend className="visually-hidden">Theme</legend>
      {THEMES.map(([key, label, icon]) => (
        <label key={key} className={styles["theme"]}>
          <input type="radio" name="theme" checked={theme === key} onChange={() => choose(key)} />
          <Icon name={icon} /> {label}
        </label>
      ))}
    </fieldset>
  );
}
