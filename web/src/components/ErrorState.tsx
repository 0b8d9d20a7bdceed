import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";

import { meQuery } from "@/api/me";
import { asProblem, type Problem, wordsOf } from "@/api/problem";
import { Button } from "./Button";
import styles from "./ErrorState.module.css";
import { Icon } from "./Icon";

/** What a person can do about it, by the kind of problem. */
function advice(problem: Problem): string {
  if (problem.status === 0) return "Try again in a moment.";
  if (problem.status === 403) return "Ask an admin of the company or the project for a higher role.";
  if (problem.status === 404) return "It may have been deleted, or the link is incomplete.";
  if (problem.status === 409) return "Load the page again to see how it is now.";
  if (problem.status === 429) return `Too often; try again in ${problem.retryAfter ?? 60} seconds.`;
  if (problem.status >= 500) return "Try again; if it stays, give the request id to whoever runs this server.";
  return "";
}

function sentence(text: string): string {
  return text ? text.charAt(0).toUpperCase() + text.slice(1) : text;
}

/** In place of what could not be loaded. */
export function ErrorState({ error, onRetry, children }: { error: unknown; onRetry?: () => void; children?: ReactNode }) {
  const problem = asProblem(error);
  return (
    <div className={styles["state"]} role="alert">
      <h2>{problem.title}</h2>
      {problem.detail && <p>{sentence(problem.detail)}</p>}
      {advice(problem) && <p className="muted">{advice(problem)}</p>}
      {problem.status === 403 && <As />}
      <div className="row">
        {onRetry && <Button icon="refresh" onClick={onRetry}>Try again</Button>}
        {children}
      </div>
      {problem.requestId && <p className={styles["id"]}>Request <code>{problem.requestId}</code></p>}
    </div>
  );
}

/** Who has two accounts may have come with the other one. */
function As() {
  const me = useQuery(meQuery);
  return me.data ? <p className="muted">You are signed in as {me.data.email}.</p> : null;
}

/** Beside a form that was refused. */
export function ProblemNote({ problem }: { problem: Problem }) {
  return (
    <div className={styles["note"]} role="alert">
      <Icon name="alert" />
      <div>
        {sentence(wordsOf(problem))}
        {problem.status === 429 && ` ${advice(problem)}`}
        {problem.errors.length > 0 && (
          <ul>
            {problem.errors.slice(0, 8).map((error) => (
              <li key={error.path + error.message}>
                {error.path && <code>{error.path}</code>} {error.message}
              </li>
            ))}
          </ul>
        )}
        {problem.status >= 500 && problem.requestId && <div className={styles["id"]}>Request <code>{problem.requestId}</code></div>}
      </div>
    </div>
  );
}
