import { useEffect, useState } from "react";
import { Link, useNavigate, useSearchParams } from "react-router";

import { Button, ErrorState, Field, ProblemNote, toast } from "@/components";
import { Problem } from "@/api/problem";
import { useSubmit } from "@/lib/useSubmit";
import { paths } from "@/paths";
import { session } from "@/session/session";
import { Entry } from "./Entry";
import styles from "./Entry.module.css";

export function Component() {
  const [search, setSearch] = useSearchParams();
  const [token] = useState(search.get("token") ?? "");
  // It leaves the address bar, the history and every referrer as soon as it is read.
  useEffect(() => setSearch({}, { replace: true }), [setSearch]);
  const navigate = useNavigate();
  const { busy, problem, onSubmit } = useSubmit(async (field) => {
    if (field("password") !== field("again")) throw new Problem({ detail: "The two passwords differ.", errors: [] });
    await session.resetPassword(token, field("password"));
    toast("Your password is changed; every other session has ended.");
    await navigate(paths.home(), { replace: true });
  });
  if (!token) {
    return (
      <Entry title="Choose a new password">
        <ErrorState error={new Problem({ title: "The link is incomplete", detail: "Open the link in the mail again, or ask for a new one." })} />
        <p className={styles["foot"]}><Link to={paths.forgot()}>Ask for a new link</Link></p>
      </Entry>
    );
  }
  return (
    <Entry title="Choose a new password">
      <form className={styles["form"]} onSubmit={onSubmit}>
        <Field label="New password" name="password" type="password" autoComplete="new-password" required minLength={8} autoFocus hint="At least 8 characters." />
        <Field label="Once more" name="again" type="password" autoComplete="new-password" required />
        {problem && <ProblemNote problem={problem} />}
        {problem?.status === 401 && <p><Link to={paths.forgot()}>Ask for a new link</Link></p>}
        <Button kind="primary" type="submit" wide busy={busy}>Change password and sign in</Button>
      </form>
    </Entry>
  );
}
