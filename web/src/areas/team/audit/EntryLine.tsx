import type { ReactNode } from "react";
import { Link } from "react-router";

import { Button, Icon, Time } from "@/components";
import { paths } from "@/paths";
import teamStyles from "../Team.module.css";
import { type Change, type Entry, gist, inWords, readable, told } from "./actions";
import styles from "./Audit.module.css";

/** The page of a resource, where it has one of its own. */
const PAGES: Record<string, (id: string) => string> = {
  company: paths.company,
  organization: paths.company,
  project: paths.project,
  workflow: paths.workflow,
  execution: (id) => paths.execution(id),
};

const NOBODY: Record<string, string> = { "auth.login_failed": "Somebody" };

/** One entry: a line that says it all, and the details when it is opened. */
export function EntryLine({ entry, names, narrow }: { entry: Entry; names: Map<string, string>; narrow: (filter: Record<string, string>) => void }) {
  const refused = entry.action === "access.denied" || entry.action === "auth.login_failed";
  const about = gist(entry, names);
  const who = names.get(entry.user_id ?? "");
  return (
    <details className={styles["entry"]}>
      <summary className={styles["line"]}>
        <Icon name="right" size={13} />
        <span className={styles["when"]}><Time at={entry.created_at} /></span>
        <span className={styles["who"]}>{who ?? (entry.user_id ? "Someone no longer here" : (NOBODY[entry.action] ?? "The server"))}</span>
        <span className={`${styles["did"]} ${refused ? styles["refused"] : ""}`}>
          {inWords(entry.action)} {about && <span className={styles["gist"]}>{about}</span>}
        </span>
        <span className={styles["address"]}>{entry.ip_address}</span>
      </summary>
      <Details entry={entry} narrow={narrow} />
    </details>
  );
}

function Details({ entry, narrow }: { entry: Entry; narrow: (filter: Record<string, string>) => void }) {
  const { changes, facts } = told(entry.details);
  const page = entry.resource_id ? PAGES[entry.resource_type]?.(entry.resource_id) : undefined;
  return (
    <div className={styles["more"]}>
      {changes.length > 0 && <Changes changes={changes} />}
      <dl className={teamStyles["facts"]}>
        {facts.map(([name, value]) => <Fact key={name} name={name.replaceAll("_", " ")}>{readable(value)}</Fact>)}
        <Fact name="when"><Time at={entry.created_at} style="exact" /></Fact>
        <Fact name="action"><code>{entry.action}</code></Fact>
        {entry.resource_id && entry.resource_id !== entry.user_id && (
          <Fact name={entry.resource_type.replaceAll("_", " ")}>
            {page && !entry.action.endsWith(".delete") ? <Link to={page}><code>{entry.resource_id}</code></Link> : <code>{entry.resource_id}</code>}
          </Fact>
        )}
        {entry.user_id && <Fact name="user id"><code>{entry.user_id}</code></Fact>}
        <Fact name="from">{[entry.ip_address, entry.user_agent].filter(Boolean).join(", ") || "–"}</Fact>
      </dl>
      <div className="row">
        {entry.resource_id && entry.resource_id !== entry.user_id && <Narrow onClick={() => narrow({ resource_id: entry.resource_id ?? "" })}>Only this {entry.resource_type.replaceAll("_", " ")}</Narrow>}
        {entry.user_id && <Narrow onClick={() => narrow({ user_id: entry.user_id ?? "" })}>Only this person</Narrow>}
        <Narrow onClick={() => narrow({ action: entry.action })}>Only this action</Narrow>
      </div>
    </div>
  );
}

function Narrow({ onClick, children }: { onClick: () => void; children: ReactNode }) {
  return <Button size="small" onClick={onClick}>{children}</Button>;
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

function Changes({ changes }: { changes: Change[] }) {
  return (
    <table className={styles["changes"]}>
      <thead>
        <tr><th scope="col">Changed</th><th scope="col">Before</th><th scope="col">After</th></tr>
      </thead>
      <tbody>
        {changes.map((change) => (
          <tr key={change.member}>
            <td>{change.member.replaceAll("_", " ")}</td>
            <td><span className={`${styles["value"]} ${styles["was"]}`}>{readable(change.before)}</span></td>
            <td><span className={styles["value"]}>{readable(change.after)}</span></td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
