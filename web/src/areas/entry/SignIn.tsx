import { useEffect, useState } from "react";
import { Link, Navigate, useNavigate, useSearchParams } from "react-router";

import { Button, ButtonAnchor, Field, ProblemNote } from "@/components";
import { useSubmit } from "@/lib/useSubmit";
import { paths } from "@/paths";
import { safeNext, withNext } from "@/session/next";
import { session } from "@/session/session";
import { useSession } from "@/session/useSession";
import { Entry } from "./Entry";
import styles from "./Entry.module.css";
import { nameOf, useMethods, wayIn } from "./methods";

export function Component() {
  const [search] = useSearchParams();
  const next = safeNext(search.get("next"));
  const navigate = useNavigate();
  const state = useSession();
  const [email, setEmail] = useState("");
  const [settled, setSettled] = useState("");
  const methods = useMethods(settled);
  const companies = methods.data?.companies ?? [];
  const directory = companies.find((one) => one.takes_password);
  const withPassword = methods.data?.password !== false;

  // A company's sign-in is looked up when the typing stops.
  useEffect(() => {
    const timer = setTimeout(() => setSettled(email), 350);
    return () => clearTimeout(timer);
  }, [email]);

  const { busy, problem, onSubmit } = useSubmit(async (field) => {
    try {
      await session.signIn(field("email"), field("password"));
    } catch (error) {
      // The account belongs to a company's provider: go there.
      if ((error as { status?: number }).status === 407) {
        location.assign(wayIn("/user/auth?sso=1&email=", field("email"), next));
        return;
      }
      throw error;
    }
    await navigate(next, { replace: true });
  });

  if (state === "in") return <Navigate to={next} replace />;
  return (
    <Entry title="Sign in">
      <form className={styles["form"]} onSubmit={onSubmit}>
        <Field label="Email" name="email" type="email" autoComplete="username" required autoFocus value={email}
          onChange={(event) => setEmail(event.target.value)} onBlur={() => setSettled(email)} />
        {companies.filter((one) => !one.takes_password).map((one) => (
          <ButtonAnchor key={one.url} kind="primary" icon="building" wide href={wayIn(one.url, email, next)}>
            Continue with {one.name}
          </ButtonAnchor>
        ))}
        {withPassword && (
          <>
            <Field label="Password" name="password" type="password" autoComplete="current-password" required />
            {problem && <ProblemNote problem={problem} />}
            <Button kind={companies.some((one) => !one.takes_password) ? "plain" : "primary"} type="submit" wide busy={busy}>Sign in</Button>
            <div className={styles["between"]}>
              <Link to={paths.forgot()}>Forgot your password?</Link>
              {directory && <Link to={paths.signInDirectory(directory.url.split("/").at(-1) ?? "", next)}>Use {directory.name}</Link>}
            </div>
          </>
        )}
        {!withPassword && companies.length > 0 && <p className="muted">Your company signs in at its own provider; there is no password here.</p>}
      </form>
      <Social providers={methods.data?.providers ?? []} next={next} />
      <p className={styles["foot"]}>
        New here? <Link to={withNext(paths.signUp(), next)}>Create an account</Link>
      </p>
    </Entry>
  );
}

export function Social({ providers, next }: { providers: { name: string; kind: string; url: string }[]; next: string }) {
  if (providers.length === 0) return null;
  return (
    <>
      <div className={styles["or"]}>or</div>
      <div className={styles["ways"]}>
        {providers.map((one) => (
          <ButtonAnchor key={one.name} wide href={wayIn(one.url, "", next)}>Continue with {nameOf(one)}</ButtonAnchor>
        ))}
      </div>
    </>
  );
}
