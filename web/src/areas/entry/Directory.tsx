import { Link, useNavigate, useSearchParams } from "react-router";

import { Button, Field, ProblemNote } from "@/components";
import { useSubmit } from "@/lib/useSubmit";
import { paths } from "@/paths";
import { safeNext } from "@/session/next";
import { session } from "@/session/session";
import { Entry } from "./Entry";
import styles from "./Entry.module.css";

/** Sign-in at a company's directory (LDAP): its user name and password, checked there. */
export function Component() {
  const [search] = useSearchParams();
  const navigate = useNavigate();
  const provider = search.get("provider") ?? "";
  const { busy, problem, onSubmit } = useSubmit(async (field) => {
    await session.signInAt(`/api/v1/auth/iam/${encodeURIComponent(provider)}`, field("username"), field("password"));
    await navigate(safeNext(search.get("next")), { replace: true });
  });
  return (
    <Entry title="Sign in with your company" about="With the user name and password that you have there.">
      <form className={styles["form"]} onSubmit={onSubmit}>
        <Field label="User name" name="username" autoComplete="username" required autoFocus />
        <Field label="Password" name="password" type="password" autoComplete="current-password" required />
        {problem && <ProblemNote problem={problem} />}
        <Button kind="primary" type="submit" wide busy={busy}>Sign in</Button>
      </form>
      <p className={styles["foot"]}><Link to={paths.signIn()}>Other ways to sign in</Link></p>
    </Entry>
  );
}
