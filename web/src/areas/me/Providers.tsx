/** The providers that open my account: social ones, and those of my companies. Linking goes there and comes back. */
import { useQueries, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { api } from "@/api/client";
import { companiesQuery } from "@/api/places";
import { Badge, Button, ButtonAnchor, ConfirmDialog, EmptyState, ErrorState, Section, SkeletonLines, Time, toast } from "@/components";
import { paths } from "@/paths";
import { nameOf, wayIn } from "../entry/methods";
import { titleOf } from "../team/providers/kinds";
import { providersQuery } from "../team/providers/queries";
import { LinkDirectory } from "./LinkDirectory";
import styles from "./Me.module.css";

interface Way {
  key: string;
  name: string;
  about: string;
  since?: string | undefined;
  linked: boolean;
  /** Where to go to link it. */
  link?: string | undefined;
  /** A directory is not gone to: it takes a name and a password, sent to this address. */
  asks?: string | undefined;
  remove: () => Promise<unknown>;
}

const GONE_TO = new Set(["oidc", "saml"]);
const ASKING = new Set(["ldap"]);

export function Providers() {
  const ways = useWays();
  const [going, setGoing] = useState<Way | null>(null);
  const [asking, setAsking] = useState<Way | null>(null);
  const cache = useQueryClient();
  const changed = () => Promise.all([cache.invalidateQueries({ queryKey: ["user"] }), cache.invalidateQueries({ queryKey: ["identities"] })]);
  return (
    <Section title="Providers">
      {ways.error ? <ErrorState error={ways.error} /> : ways.loading ? <SkeletonLines lines={2} height="3.5rem" /> : ways.all.length === 0 ? (
        <div className="card">
          <EmptyState icon="link" title="Only your password">This server has no social sign-in, and none of your companies has an identity provider.</EmptyState>
        </div>
      ) : (
        <ul className="box">
          {ways.all.map((way) => (
            <li key={way.key} className={styles["item"]}>
              <span>
                <b>{way.name}</b>
                <small>{way.about}{way.since && <>, linked <Time at={way.since} /></>}</small>
              </span>
              {way.linked ? (
                <span className="row"><Badge tone="ok" icon="check">Linked</Badge> <Button size="small" onClick={() => setGoing(way)}>Unlink<span className="visually-hidden"> {way.name}</span></Button></span>
              ) : way.asks ? (
                <Button size="small" icon="link" onClick={() => setAsking(way)}>Link<span className="visually-hidden"> {way.name}</span></Button>
              ) : (
                way.link && <ButtonAnchor size="small" icon="link" href={way.link}>Link<span className="visually-hidden"> {way.name}</span></ButtonAnchor>
              )}
            </li>
          ))}
        </ul>
      )}
      <ConfirmDialog open={going !== null} onClose={() => setGoing(null)} title={`Unlink ${going?.name ?? ""}?`} action="Unlink"
        onConfirm={async () => {
          await going?.remove();
          toast(`${going?.name} no longer opens your account`);
          await changed();
        }}
      >
        You can no longer sign in through it. Roles that it gave you go with it; you can link it again.
      </ConfirmDialog>
      <LinkDirectory asked={asking} onClose={() => setAsking(null)} onLinked={changed} />
    </Section>
  );
}

function useWays(): { all: Way[]; loading: boolean; error: unknown } {
  const user = useQuery({ queryKey: ["user"], queryFn: () => api.get("/user/get") });
  const methods = useQuery({ queryKey: ["methods", ""], queryFn: () => api.get("/api/v1/auth/methods") });
  const identities = useQuery({ queryKey: ["identities"], queryFn: () => api.get("/api/v1/auth/identities", { params: { query: { page_size: 100 } } }) });
  const companies = useQuery(companiesQuery);
  // A company in which one only has a project keeps its providers to itself: then there is nothing to link.
  const offered = useQueries({ queries: (companies.data?.items ?? []).map((one) => ({ ...providersQuery(one.id), retry: false })) });
  const mine = new Set(user.data?.methods ?? []);
  const linked = new Map((identities.data?.items ?? []).map((one) => [one.provider_id, one]));
  const social = (methods.data?.providers ?? []).map((one): Way => ({
    key: one.name,
    name: nameOf(one),
    about: "Everybody can use it",
    linked: mine.has(one.name),
    link: wayIn(one.url, "", paths.mySignIn()),
    remove: () => api.post("/user/oauth/remove", { body: { method: one.name } }),
  }));
  const company = (id: string) => companies.data?.items.find((one) => one.id === id)?.name ?? "";
  const ofCompanies = offered
    .flatMap((query) => query.data?.items ?? [])
    .filter((one) => !linked.has(one.id) && one.enabled && (GONE_TO.has(one.provider_type) || ASKING.has(one.provider_type)))
    .map((one): Way => ({
      key: one.id, name: one.name, about: `${titleOf(one.provider_type)} of ${company(one.company_id)}`, linked: false,
      ...(ASKING.has(one.provider_type) ? { asks: `/api/v1/auth/iam/${one.id}` } : { link: wayIn(`/api/v1/auth/iam/${one.id}`, "", paths.mySignIn()) }),
      remove: () => Promise.resolve(),
    }));
  const ofMine = [...linked.values()].map((one): Way => ({
    key: one.provider_id, name: one.name, about: `${titleOf(one.provider_type)} of ${one.company}${one.enabled ? "" : ", turned off"}`, since: one.created_at, linked: true,
    remove: () => api.delete("/api/v1/auth/identities/{provider_id}", { params: { path: { provider_id: one.provider_id } } }),
  }));
  const asked = [user, methods, identities, companies];
  return { all: [...social, ...ofMine, ...ofCompanies], loading: asked.some((one) => one.isPending), error: asked.find((one) => one.error)?.error };
}
