/** Every version that was saved: who, when, what changed, and back to one. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense, useState } from "react";
import { Link, useNavigate, useParams, useSearchParams } from "react-router";

import { api } from "@/api/client";
import { Badge, Button, CodeBlock, ConfirmDialog, ErrorState, Pagination, Select, Skeleton, SkeletonLines, Time, toast, usePage } from "@/components";
import { paths } from "@/paths";
import { changed, changeWorkflow, peopleQuery, versionQuery } from "../data";
import { useWorkflow } from "../Workflow";
import styles from "./Versions.module.css";

const DiffView = lazy(() => import("../editor/DiffView"));
const PAGE = 20;

export function Component() {
  const { id, workflow } = useWorkflow();
  const params = useParams();
  const navigate = useNavigate();
  const [search] = useSearchParams();
  const [page, goTo] = usePage();
  const list = useQuery({
    queryKey: ["workflow", id, "versions", page, workflow.version],
    queryFn: () => api.get("/api/v1/workflows/{id}/versions", { params: { path: { id }, query: { page, page_size: PAGE } } }),
  });
  const people = useQuery(peopleQuery(id));
  const chosen = Number(params["version"]) || workflow.version;
  const against = Number(search.get("against")) || Math.max(1, chosen - 1);
  const inList = page > 1 ? { page } : {};
  if (list.error) return <ErrorState error={list.error} onRetry={() => void list.refetch()} />;
  const nameOf = (user: string) => people.data?.items.find((one) => one.user.id === user)?.user.display_name ?? "Somebody who left";
  return (
    <div className={styles["versions"]}>
      <div className="stack">
        {!list.data ? <SkeletonLines lines={6} height="3rem" /> : (
          <ol className={`box ${styles["list"]}`} aria-label="Versions">
            {list.data.items.map((one) => (
              <li key={one.version}>
                <Link to={paths.workflowVersion(id, one.version, inList)} aria-current={one.version === chosen ? "true" : undefined}>
                  <b>Version {one.version}</b>
                  {one.version === workflow.deployed_version && <Badge tone="ok" icon="check">Deployed</Badge>}
                  <span>{people.isPending ? "…" : nameOf(one.created_by)}, <Time at={one.created_at} /></span>
                </Link>
              </li>
            ))}
          </ol>
        )}
        {list.data && <Pagination page={page} pageSize={PAGE} total={list.data.total} shown={list.data.items.length} onPage={goTo} />}
      </div>
      <Compared version={chosen} against={against} onAgainst={(other) => void navigate(paths.workflowVersion(id, chosen, { against: other, ...inList }), { replace: true })} />
    </div>
  );
}

function Compared({ version, against, onAgainst }: { version: number; against: number; onAgainst: (version: number) => void }) {
  const { id, workflow } = useWorkflow();
  const after = useQuery(versionQuery(id, version));
  const before = useQuery(versionQuery(id, against));
  const error = after.error ?? before.error;
  const others = Array.from({ length: Math.min(200, workflow.version) }, (_, index) => workflow.version - index);
  if (!others.includes(against)) others.push(against);
  return (
    <section className={styles["compared"]} aria-label={`Version ${version}`}>
      <div className="spread">
        <div className={styles["choice"]}>
          <h2>Version {version}</h2>
          {workflow.version > 1 && (
            <Select label="Compared with version" value={against} onChange={(event) => onAgainst(Number(event.target.value))}>
              {others.map((one) => <option key={one} value={one}>{one}</option>)}
            </Select>
          )}
        </div>
        <Restore version={version} text={after.data?.config_yaml} />
      </div>
      {error ? <ErrorState error={error} /> : after.data && before.data ? (
        before.data.config_yaml === after.data.config_yaml ? (
          <>
            <p className="muted">{version === 1 && against === 1 ? "The first version: there is none before it." : "Nothing differs between the two."}</p>
            <CodeBlock text={after.data.config_yaml} label={`definition of version ${version}`} />
          </>
        ) : (
          <Suspense fallback={<Skeleton height="24rem" />}>
            <DiffView before={before.data.config_yaml} after={after.data.config_yaml} labels={[`Version ${against}`, `Version ${version}`]} />
          </Suspense>
        )
      ) : <Skeleton height="24rem" />}
    </section>
  );
}

function Restore({ version, text }: { version: number; text: string | undefined }) {
  const { id, workflow, etag, may } = useWorkflow();
  const [asking, setAsking] = useState(false);
  const cache = useQueryClient();
  const navigate = useNavigate();
  if (!may("editor") || text === undefined || text === workflow.config_yaml) return null;
  const restore = async () => {
    const now = await changeWorkflow(id, etag, { config_yaml: text });
    changed(cache, id, now);
    toast(`Version ${version} is back, as version ${now.workflow.version}.`);
    await navigate(paths.workflowVersion(id, now.workflow.version));
  };
  return (
    <>
      <Button icon="refresh" onClick={() => setAsking(true)}>Restore version {version}</Button>
      <ConfirmDialog open={asking} onClose={() => setAsking(false)} onConfirm={restore} title={`Restore version ${version}?`} action={`Save as version ${workflow.version + 1}`} danger={false}>
        <p>Its text becomes the newest version, {workflow.version + 1}. All others are kept, and what is deployed stays deployed.</p>
      </ConfirmDialog>
    </>
  );
}
