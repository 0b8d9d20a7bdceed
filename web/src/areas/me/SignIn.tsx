/** Email, password, and the providers through which one can come in. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { meQuery } from "@/api/me";
import { Button, Field, ProblemNote, Section, SkeletonLines, toast } from "@/components";
import { useSubmit } from "@/lib/useSubmit";
import { session } from "@/session/session";
import styles from "./Me.module.css";
import { MePage } from "./MePage";
import { Providers } from "./Providers";

export function Component() {
  return (
    <MePage title="Sign-in">
      <Email />
      <Password />
      <Providers />
    </MePage>
  );
}

function Email() {
  const me = useQuery(meQuery);
  const cache = useQueryClient();
  const { busy, problem, onSubmit } = useSubmit(async (field) => {
    await session.changeAccount({ email: field("email").trim(), ...current(field) });
    toast("Your email is changed. Sign in with the new one from now on.");
    await cache.invalidateQueries({ queryKey: meQuery.queryKey });
  });
  if (!me.data) return <SkeletonLines lines={2} />;
  return (
    <Section title="Email">
      <form key={me.data.email} className={`card ${styles["form"]}`} onSubmit={onSubmit}>
        <Field label="Email" name="email" type="email" required autoComplete="email" defaultValue={me.data.email} />
        <Field label="Current password" name="current_password" type="password" autoComplete="current-password" hint="To see that it is you. Leave it empty if you have none." />
        {problem && <ProblemNote problem={problem} />}
        <div><Button type="submit" busy={busy}>Change email</Button></div>
      </form>
    </Section>
  );
}

function Password() {
  const [done, setDone] = useState(0);
  const { busy, problem, onSubmit } = useSubmit(async (field) => {
    await session.changeAccount({ password: field("password"), ...current(field) });
    setDone((times) => times + 1);
    toast("Your password is changed. Every other session has ended.");
  });
  return (
    <Section title="Password">
      <form key={done} className={`card ${styles["form"]}`} onSubmit={onSubmit}>
        <Field label="Current password" name="current_password" type="password" autoComplete="current-password" hint="Leave it empty if you came in through a provider and never set one." />
        <Field label="New password" name="password" type="password" required minLength={8} autoComplete="new-password" hint="At least 8 characters; long is better than complicated. Ends every other session." />
        {problem && <ProblemNote problem={problem} />}
        <div><Button type="submit" busy={busy}>Change password</Button></div>
      </form>
    </Section>
  );
}

function current(field: (name: string) => string): Record<string, string> {
  return field("current_password") ? { current_password: field("current_password") } : {};
}

