/** The first five minutes: a company, a project in it, a workflow from a template. Each step that exists is skipped. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useNavigate, useSearchParams } from "react-router";

import { api } from "@/api/client";
import { companiesQuery } from "@/api/places";
import { Button, CodeBlock, ErrorState, Field, Icon, Page, ProblemNote, Select, SkeletonLines, TextArea, TileButton, toast } from "@/components";
import { useInProject } from "@/frame/scope";
import { useSubmit } from "@/lib/useSubmit";
import { paths } from "@/paths";
import styles from "./Home.module.css";

const STEPS = ["Company", "Project", "First workflow"];

export function Component() {
  const [search, setSearch] = useSearchParams();
  const company = search.get("company");
  const project = search.get("project");
  useInProject(project ?? undefined);
  const step = project ? 2 : company ? 1 : 0;
  const titles = ["Where do your workflows live?", "What are they about?", "Start from a template"];
  return (
    <Page title={titles[step] ?? ""} about={ABOUT[step]}>
      <ol className={styles["steps"]} aria-label="Steps">
        {STEPS.map((name, index) => (
          <li key={name} className={`${styles["step"]} ${index < step ? styles["done"] : ""}`} aria-current={index === step ? "step" : undefined}>
            <i>{index < step ? <Icon name="check" size={13} /> : index + 1}</i> {name}
          </li>
        ))}
      </ol>
      {step === 0 && <CompanyStep onDone={(id) => setSearch({ company: id })} />}
      {step === 1 && <ProjectStep company={company ?? ""} onDone={(id) => setSearch({ company: company ?? "", project: id })} />}
      {step === 2 && <TemplateStep project={project ?? ""} />}
    </Page>
  );
}

const ABOUT = [
  "A company holds projects and people. Yours can be a team, a client, or just you.",
  "A project holds workflows, their secrets, and who may see, change and run them.",
  "Each one runs as it is. Change it afterwards as you like; every version is kept.",
];

function CompanyStep({ onDone }: { onDone: (id: string) => void }) {
  const companies = useQuery(companiesQuery);
  const cache = useQueryClient();
  const { busy, problem, onSubmit } = useSubmit(async (field) => {
    const made = await api.post("/api/v1/companies", { body: { name: field("name") } });
    await cache.invalidateQueries({ queryKey: ["companies"] });
    onDone(made.id);
  });
  const known = companies.data?.items ?? [];
  return (
    <div className={styles["form"]}>
      <form className={`card ${styles["form"]}`} onSubmit={onSubmit}>
        <Field label="Name of the company" name="name" required autoFocus maxLength={255} placeholder="Acme" error={problem?.field("name")} />
        {problem && <ProblemNote problem={problem} />}
        <div><Button kind="primary" type="submit" busy={busy}>Create company</Button></div>
      </form>
      {known.length > 0 && (
        <div className={`card ${styles["form"]}`}>
          <Select label="Or a new project in one that you have" defaultValue="" onChange={(event) => event.target.value && onDone(event.target.value)}>
            <option value="">Choose a company</option>
            {known.map((one) => <option key={one.id} value={one.id}>{one.name}</option>)}
          </Select>
        </div>
      )}
    </div>
  );
}

function ProjectStep({ company, onDone }: { company: string; onDone: (id: string) => void }) {
  const cache = useQueryClient();
  const { busy, problem, onSubmit } = useSubmit(async (field) => {
    const description = field("description").trim();
    const made = await api.post("/api/v1/organizations/{oid}/projects", {
      params: { path: { oid: company } },
      body: { name: field("name"), ...(description ? { description } : {}) },
    });
    await cache.invalidateQueries({ queryKey: ["projects"] });
    onDone(made.id);
  });
  return (
    <form className={`card ${styles["form"]}`} onSubmit={onSubmit}>
      <Field label="Name of the project" name="name" required autoFocus maxLength={255} placeholder="Order handling" error={problem?.field("name")} />
      <TextArea label="Description" name="description" optional rows={2} error={problem?.field("description")} />
      {problem && <ProblemNote problem={problem} />}
      <div><Button kind="primary" type="submit" busy={busy}>Create project</Button></div>
    </form>
  );
}

const templatesQuery = { queryKey: ["templates"], queryFn: () => api.get("/api/v1/definitions/templates"), staleTime: Infinity };

function TemplateStep({ project }: { project: string }) {
  const templates = useQuery(templatesQuery);
  const [picked, setPicked] = useState<string | null>(null);
  const navigate = useNavigate();
  const chosen = templates.data?.items.find((one) => one.name === picked);
  const { busy, problem, onSubmit } = useSubmit(async (field) => {
    const made = await api.post("/api/v1/projects/{pid}/workflows", {
      params: { path: { pid: project } },
      body: { name: field("name"), config_yaml: chosen?.config_yaml ?? "" },
    });
    toast(`${made.name} is ready. Run it with “Trigger”.`);
    await navigate(paths.workflow(made.id));
  });
  if (templates.error) return <ErrorState error={templates.error} onRetry={() => void templates.refetch()} />;
  if (!templates.data) return <SkeletonLines lines={3} height="5.5rem" />;
  return (
    <>
      <div className="tiles" role="group" aria-label="Templates">
        {templates.data.items.map((one) => <TileButton key={one.name} icon="flow" title={one.title} picked={one.name === picked} onPick={() => setPicked(one.name)}>{one.summary}</TileButton>)}
      </div>
      {chosen && (
        <form key={chosen.name} className={`stack ${styles["peek"]}`} onSubmit={onSubmit}>
          <CodeBlock text={chosen.config_yaml} label={`definition of ${chosen.title}`} />
          <div className={styles["form"]}>
            <Field label="Name of the workflow" name="name" required defaultValue={chosen.title} maxLength={255} error={problem?.field("name")} />
            {problem && <ProblemNote problem={problem} />}
            <div><Button kind="primary" type="submit" busy={busy}>Create workflow</Button></div>
          </div>
        </form>
      )}
      <div><Button kind="quiet" onClick={() => void navigate(paths.project(project))}>Not now: open the empty project</Button></div>
    </>
  );
}
