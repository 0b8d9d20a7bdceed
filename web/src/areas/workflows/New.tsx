/** A new workflow: from a template, seen as a graph before, or from nothing. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useRef } from "react";
import { useNavigate, useParams, useSearchParams } from "react-router";

import { api, type Schema } from "@/api/client";
import { Button, CodeBlock, ErrorState, Field, Page, ProblemNote, Skeleton, SkeletonLines, Tabs, TileButton, toast } from "@/components";
import { useMyRole } from "@/areas/team/access";
import { Needs } from "@/areas/team/Needs";
import { atLeast } from "@/areas/team/roles";
import { useInProject } from "@/frame/scope";
import { Graph } from "@/graph";
import { useSubmit } from "@/lib/useSubmit";
import { paths } from "@/paths";
import { checkQuery, templatesQuery } from "./data";
import { emptyDefinition } from "./emptyDefinition";
import styles from "./Workflows.module.css";

type Template = Schema<"Template">;

const EMPTY: Template = { name: "empty", title: "An empty definition", summary: "Only its name, and one task to begin with.", config_yaml: "" };

export function Component() {
  const { projectId = "" } = useParams();
  const project = useInProject(projectId);
  const own = useMyRole("project", projectId);
  const templates = useQuery(templatesQuery);
  const [search, setSearch] = useSearchParams();
  const all = [...(templates.data?.items ?? []), EMPTY];
  const chosen = all.find((one) => one.name === search.get("template")) ?? all[0];
  const preview = useRef<HTMLDivElement>(null);
  const pick = (name: string) => {
    setSearch((was) => new URLSearchParams([...[...was].filter(([key]) => key !== "template"), ["template", name]]), { replace: true });
    // Where there is no room beside the list, what was picked is below it.
    if (window.matchMedia("(max-width: 60rem)").matches) preview.current?.scrollIntoView({ block: "start" });
  };
  return (
    <Page title="New workflow" about="Each template runs as it is. Change it afterwards as you like; every version is kept." crumbs={[{ to: paths.project(projectId), label: project.data?.name ?? "Project" }]}>
      {templates.error || project.error ? (
        <ErrorState error={templates.error ?? project.error} onRetry={() => void (templates.error ? templates.refetch() : project.refetch())} />
      ) : own !== undefined && !atLeast(own, "editor") ? (
        <Needs role="editor" own={own} place={{ kind: "project", id: projectId, name: project.data?.name ?? "the project", word: "project" }} what="A new workflow">Who may change a project writes its workflows.</Needs>
      ) : !templates.data ? (
        <SkeletonLines lines={6} height="4rem" />
      ) : (
        <div className={styles["new"]}>
          <div className={styles["templates"]} role="group" aria-label="Templates">
            {all.map((one) => (
              <TileButton key={one.name} title={one.title} picked={one === chosen} onPick={() => pick(one.name)}>{one.summary}</TileButton>
            ))}
          </div>
          <div ref={preview} className={styles["preview"]}>{chosen && <Preview key={chosen.name} template={chosen} project={projectId} tab={search.get("view") === "text" ? "text" : "graph"}
            onTab={(tab) => setSearch((was) => { const now = new URLSearchParams(was); now.set("view", tab); return now; }, { replace: true })} />}</div>
        </div>
      )}
    </Page>
  );
}

function Preview({ template, project, tab, onTab }: { template: Template; project: string; tab: "graph" | "text"; onTab: (tab: "graph" | "text") => void }) {
  const navigate = useNavigate();
  const cache = useQueryClient();
  const empty = template === EMPTY;
  const text = empty ? emptyDefinition("my-workflow") : template.config_yaml;
  const check = useQuery(checkQuery(text));
  const { busy, problem, onSubmit } = useSubmit(async (field) => {
    const made = await api.post("/api/v1/projects/{pid}/workflows", {
      params: { path: { pid: project } },
      body: { name: field("name"), config_yaml: empty ? emptyDefinition(field("name")) : template.config_yaml },
    });
    void cache.invalidateQueries({ queryKey: ["workflows"] });
    toast(`${made.name} is ready. Run it with “Trigger”.`);
    await navigate(empty ? paths.workflowEdit(made.id) : paths.workflow(made.id));
  });
  return (
    <>
      <form className="card stack" onSubmit={onSubmit}>
        <div className={styles["side"]}>
          <Field label="Name of the workflow" name="name" required defaultValue={empty ? "" : template.title} maxLength={255} error={problem?.field("name")} />
          <Button kind="primary" type="submit" busy={busy}>Create workflow</Button>
        </div>
        {problem && <ProblemNote problem={problem} />}
      </form>
      <Tabs
        label="The template"
        chosen={tab}
        onChoose={onTab}
        tabs={[
          { key: "graph", label: "Graph", content: <div className={styles["picture"]}>{check.data?.graph ? <Graph graph={check.data.graph} label={`Graph of ${template.title}`} /> : check.isPending ? <Skeleton height="100%" /> : <p className="muted">There is no graph of it.</p>}</div> },
          { key: "text", label: "Definition", content: <CodeBlock text={text} label={`definition of ${template.title}`} /> },
        ]}
      />
    </>
  );
}
