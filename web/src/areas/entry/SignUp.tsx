import { Link, Navigate, useNavigate, useSearchParams } from "react-router";

import { api } from "@/api/client";
import { Button, Field, ProblemNote } from "@/components";
import { useSubmit } from "@/lib/useSubmit";
import { paths } from "@/paths";
import { safeNext, withNext } from "@/session/next";
import { session } from "@/session/session";
import { useSession } from "@/session/useSession";
import { Entry } from "./Entry";
import styles from "./Entry.module.css";
import { useMethods } from "./methods";
import { Social } from "./SignIn";

export function Component() {
  const [search] = useSearchParams();
  const next = safeNext(search.get("next"));
  const navigate = useNavigate();
  const state = useSession();
  const methods = useMethods("");
  const { busy, problem, onSubmit } = useSubmit(async (field) => {
    await session.signUp(field("email"), field("password"));
    const name = field("display_name").trim();
    // The account exists and is signed in; a name that could not be stored is no reason to stop here.
    if (name) await api.put("/api/v1/auth/me", { body: { display_name: name } }).catch(() => undefined);
    await navigate(next, { replace: true });
  });
  if (state === "in" && !busy) return <Navigate to={next} replace />;
  return (
    <Entry title="Create your account" about="One account for every company and project on this server.">
      <form className={styles["form"]} onSubmit={onSubmit}>
        <Field label="Name" name="display_name" autoComplete="name" optional autoFocus maxLength={255} />
        <Field label="Email" name="email" type="email" autoComplete="username" required />
        <Field label="Password" name="password" type="password" autoComplete="new-password" required minLength={8} hint="At least 8 characters; long is better than complicated." />
        {problem && <ProblemNote problem={problem} />}
        <Button kind="primary" type="submit" wide busy={busy}>Create account</Button>
      </form>
      <Social providers={methods.data?.providers ?? []} next={next} />
      <p className={styles["foot"]}>
        Have an account? <Link to={withNext(paths.signIn(), next)}>Sign in</Link>
      </p>
    </Entry>
  );
}
