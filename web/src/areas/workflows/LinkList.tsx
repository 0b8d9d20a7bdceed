/** What a workflow starts when it ends, in words. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";

import { ErrorState, Icon, SkeletonLines } from "@/components";
import { paths } from "@/paths";
import { linksQuery, workflowQuery } from "./data";
import styles from "./Links.module.css";

export const LINK_WORDS: Record<string, string> = {
  completed: "When it completes",
  failed: "When it fails",
  finished: "However it ends",
  dependency: "Depends on this (only noted)",
};

export function LinkList({ id }: { id: string }) {
  const links = useQuery(linksQuery(id));
  if (links.error) return <ErrorState error={links.error} onRetry={() => void links.refetch()} />;
  if (!links.data) return <SkeletonLines lines={1} />;
  if (links.data.items.length === 0) return <div className="card"><p className="muted">Nothing. A link starts another workflow when this one ends.</p></div>;
  return (
    <ul className={`card ${styles["list"]}`}>
      {links.data.items.map((link) => (
        <li key={link.id}>
          <span className="muted">{LINK_WORDS[link.link_type] ?? link.link_type}</span>
          <Icon name="right" size={13} />
          <Target id={link.target_workflow_id} />
        </li>
      ))}
    </ul>
  );
}

/** The name of a workflow that one may not be allowed to see. */
export function Target({ id }: { id: string }) {
  const target = useQuery(workflowQuery(id));
  if (target.error) return <span className="muted">a workflow that you may not see</span>;
  return <Link to={paths.workflow(id)}>{target.data?.workflow.name ?? "…"}</Link>;
}
