import { useState } from "react";
import { Link } from "react-router";

import { Button, Field, Icon, ProblemNote } from "@/components";
import { useSubmit } from "@/lib/useSubmit";
import { paths } from "@/paths";
import { session } from "@/session/session";
import { Entry } from "./Entry";
import styles from "./Entry.module.css";

export function Component() {
  const [sent, setSent] = useState("");
  const { busy, problem, onSubmit } = useSubmit(async (field) => {
    await session.forgotPassword(field("email"));
    setSent(field("email"));
  });
  return (
    <Entry title="Forgot your password?" about={sent ? undefined : "We send you a link with which you choose a new one."}>
      {sent ? (
        <div className={styles["good"]} role="status">
          <Icon name="check" />
          <span>If there is an account for <b>{sent}</b>, a mail is on its way. The link in it works once, for an hour.</span>
        </div>
      ) : (
        <form className={styles["form"]} onSubmit={onSubmit}>
          <Field label="Email" name="email" type="email" autoComplete="username" required autoFocus />
          {problem && <ProblemNote problem={problem} />}
          <Button kind="primary" type="submit" wide busy={busy}>Send the link</Button>
        </form>
      )}
      <p className={styles["foot"]}><Link to={paths.signIn()}>Back to sign in</Link></p>
    </Entry>
  );
}
