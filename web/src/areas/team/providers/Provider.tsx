/** One identity provider: whether it works, how people come in, what it is told, and which roles it gives. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useNavigate, useParams } from "react-router";

import { api, type Schema } from "@/api/client";
import { Button, ConfirmDialog, CopyButton, ErrorState, Field, Icon, Page, ProblemNote, Section, SkeletonLines, toast, toastProblem } from "@/components";
import { useSubmit } from "@/lib/useSubmit";
import { paths } from "@/paths";
import { type Place, useMyRole } from "../access";
import { InCompany } from "../InPlace";
import { type Anything, metadataFrom } from "../Metadata";
import { ReadOnly } from "../Needs";
import { atLeast } from "../roles";
import teamStyles from "../Team.module.css";
import { ConfigFields } from "./ConfigForm";
import { configFrom, KINDS, titleOf } from "./kinds";
import { Mappings } from "./Mappings";
import styles from "./Providers.module.css";
import { Enabled } from "./Providers";
import { type Provider, providerQuery } from "./queries";

export function Component() {
  const { providerId = "" } = useParams();
  return <InCompany title="Identity provider">{(place) => <Loaded key={providerId} place={place} id={providerId} />}</InCompany>;
}

function Loaded({ place, id }: { place: Place; id: string }) {
  const provider = useQuery(providerQuery(id));
  const own = useMyRole("company", place.id);
  if (provider.error) return <Page title="Identity provider"><ErrorState error={provider.error} onRetry={() => void provider.refetch()} /></Page>;
  if (!provider.data || own === undefined) return <Page title="Identity provider"><SkeletonLines lines={6} /></Page>;
  return <One place={place} provider={provider.data} may={atLeast(own, "admin")} own={own} />;
}

function One({ place, provider, may, own }: { place: Place; provider: Provider; may: boolean; own: string }) {
  const cache = useQueryClient();
  const [outcome, setOutcome] = useState<Schema<"Outcome"> | null>(null);
  const [saves, setSaves] = useState(0);
  const refresh = () => Promise.all([cache.invalidateQueries({ queryKey: ["provider", provider.id] }), cache.invalidateQueries({ queryKey: ["company", place.id, "providers"] })]);
  const crumbs = [{ to: paths.company(place.id), label: place.name }, { to: paths.companyProviders(place.id), label: "Identity providers" }];
  return (
    <Page title={provider.name} heading={<span className="row">{provider.name} <Enabled on={provider.enabled} /></span>} about={titleOf(provider.provider_type)} crumbs={crumbs}
      actions={may && <Actions place={place} provider={provider} onOutcome={setOutcome} refresh={refresh} />}>
      {!may && <ReadOnly role="admin" own={own} place={place} to="change or test it" />}
      {outcome && (
        <div className={`${styles["outcome"]} ${outcome.success ? "" : styles["failed"]}`} role="status">
          <Icon name={outcome.success ? "check" : "alert"} />
          <div><b>{outcome.success ? "It works." : "It does not work."}</b> {outcome.message}</div>
        </div>
      )}
      <div className={styles["columns"]}>
        {/* Anew when it was saved, here or by somebody else; not when it is turned on or off: what was typed stays. */}
        <Config key={JSON.stringify([saves, provider.name, provider.config])} provider={provider} may={may} saved={async () => {
          setOutcome(null);
          await refresh();
          setSaves((was) => was + 1);
        }} />
        {KINDS[provider.provider_type]?.signsIn && <ComingIn provider={provider} company={place.id} />}
      </div>
      <Mappings place={place} provider={provider} may={may} />
    </Page>
  );
}

interface ActionsProps {
  place: Place;
  provider: Provider;
  onOutcome: (outcome: Schema<"Outcome">) => void;
  refresh: () => Promise<unknown>;
}

function Actions({ place, provider, onOutcome, refresh }: ActionsProps) {
  const [busy, setBusy] = useState(false);
  const [asked, ask] = useState<"off" | "delete" | null>(null);
  const navigate = useNavigate();
  const params = { path: { id: provider.id } };
  const turn = async (enabled: boolean) => {
    await api.put("/api/v1/iam/providers/{id}", { params, body: { enabled } });
    toast(`${provider.name} is ${enabled ? "on" : "off"}`);
    await refresh();
  };
  const test = async () => {
    setBusy(true);
    try {
      onOutcome(await api.post("/api/v1/iam/providers/{id}/test", { params }));
    } catch (error) {
      toastProblem(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <Button kind="primary" icon="play" busy={busy} onClick={() => void test()}>Test</Button>
      {provider.enabled ? <Button onClick={() => ask("off")}>Turn off</Button> : <Button onClick={() => void turn(true).catch(toastProblem)}>Turn on</Button>}
      <Button kind="danger" icon="trash" onClick={() => ask("delete")}>Delete</Button>
      <ConfirmDialog open={asked === "off"} onClose={() => ask(null)} title={`Turn off ${provider.name}?`} action="Turn off" onConfirm={() => turn(false)}>
        Nobody comes in through it any more, and the roles that its mappings gave are taken back until it is on again and people sign in.
      </ConfirmDialog>
      <ConfirmDialog open={asked === "delete"} onClose={() => ask(null)} title={`Delete ${provider.name}?`} action="Delete provider"
        onConfirm={async () => {
          await api.delete("/api/v1/iam/providers/{id}", { params });
          toast(`${provider.name} was deleted`);
          await navigate(paths.companyProviders(place.id), { replace: true });
          await refresh();
        }}
      >
        Its mappings go with it, and the roles that they gave. Accounts that it made stay, but cannot come in through it.
      </ConfirmDialog>
    </>
  );
}

function Config({ provider, may, saved }: { provider: Provider; may: boolean; saved: () => Promise<unknown> }) {
  const { busy, problem, onSubmit } = useSubmit(async (field) => {
    const kind = KINDS[provider.provider_type];
    const config = (kind ? configFrom(kind, field, provider.config) : metadataFrom(field("config"))) as Anything;
    await api.put("/api/v1/iam/providers/{id}", { params: { path: { id: provider.id } }, body: { name: field("provider_name"), config } });
    toast("Saved");
    await saved();
  });
  return (
    <Section title="Configuration">
      {may ? (
        <form className={`card ${teamStyles["form"]}`} onSubmit={onSubmit}>
          <Field label="Name" name="provider_name" required maxLength={255} defaultValue={provider.name} error={problem?.field("name")} />
          <ConfigFields type={provider.provider_type} stored={provider.config} problem={problem} />
          {problem && <ProblemNote problem={problem} />}
          <div><Button type="submit" busy={busy}>Save</Button></div>
        </form>
      ) : (
        <div className="card"><Facts config={provider.config} /></div>
      )}
    </Section>
  );
}

function Facts({ config }: { config: Record<string, unknown> }) {
  return (
    <dl className={teamStyles["facts"]}>
      {Object.entries(config).map(([name, value]) => (
        <div key={name} style={{ display: "contents" }}>
          <dt>{name.replaceAll("_", " ")}</dt>
          <dd>{typeof value === "string" ? value : JSON.stringify(value)}</dd>
        </div>
      ))}
    </dl>
  );
}

/** What the provider's administrators have to enter there, and what the operator of this server has to grant. */
function ComingIn({ provider, company }: { provider: Provider; company: string }) {
  const here = location.origin;
  return (
    <Section title="How people come in">
      <div className="card stack">
        {provider.provider_type === "oidc" && <Address title="Redirect address, to be registered there" text={`${here}/api/v1/auth/iam/${provider.id}/callback`} />}
        {provider.provider_type === "saml" && (
          <>
            <Address title="Our metadata, to be imported there" text={`${here}/user/saml/metadata`} />
            <Address title="Where it posts its answers" text={`${here}/user/saml/acs`} />
          </>
        )}
        {provider.provider_type === "ldap" && <p>People sign in here with their user name and password of the directory.</p>}
        <p className="muted">
          It opens accounts for email domains that this server's operator granted to the company. Who types such an email on the sign-in page is offered it.
        </p>
        <Address title="The operator's command" text={`penstock domains grant ${company} example.com`} />
      </div>
    </Section>
  );
}

function Address({ title, text }: { title: string; text: string }) {
  return (
    <div>
      <div className="muted">{title}</div>
      <div className={styles["address"]}><code>{text}</code> <CopyButton text={text} label={`Copy: ${title}`} /></div>
    </div>
  );
}
