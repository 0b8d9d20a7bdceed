/** A new identity provider: first its type, which is in the address, then what that type is told. */
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearchParams } from "react-router";

import { api } from "@/api/client";
import { Button, ButtonLink, Field, Page, ProblemNote, Section, SkeletonLines, TileLink } from "@/components";
import { useSubmit } from "@/lib/useSubmit";
import { paths } from "@/paths";
import { type Place, useMyRole } from "../access";
import { InCompany } from "../InPlace";
import { type Anything, metadataFrom } from "../Metadata";
import { Needs } from "../Needs";
import { atLeast } from "../roles";
import teamStyles from "../Team.module.css";
import { ConfigFields } from "./ConfigForm";
import { configFrom, CUSTOM, KINDS, titleOf } from "./kinds";

export function Component() {
  return <InCompany title="Add an identity provider">{(place) => <NewProvider key={place.id} place={place} />}</InCompany>;
}

function NewProvider({ place }: { place: Place }) {
  const own = useMyRole("company", place.id);
  const [search] = useSearchParams();
  const type = search.get("type");
  const crumbs = [{ to: paths.company(place.id), label: place.name }, { to: paths.companyProviders(place.id), label: "Identity providers" }];
  return (
    <Page title="Add an identity provider" crumbs={crumbs}>
      {own === undefined ? <SkeletonLines /> : !atLeast(own, "admin") ? (
        <Needs role="admin" own={own} place={place} what="Adding one">An identity provider decides who comes in.</Needs>
      ) : (
        <>
          <nav className="tiles" aria-label="Type">
            {Object.entries({ ...KINDS, custom: CUSTOM }).map(([key, kind]) => (
              <TileLink key={key} to={paths.companyProviderNew(place.id, key)} replace aria-current={key === type ? "true" : undefined} title={kind.title}>{kind.about}</TileLink>
            ))}
          </nav>
          {type && <Form key={type} company={place.id} type={type} />}
        </>
      )}
    </Page>
  );
}

function Form({ company, type }: { company: string; type: string }) {
  const navigate = useNavigate();
  const cache = useQueryClient();
  const { busy, problem, onSubmit } = useSubmit(async (field) => {
    const kind = KINDS[type];
    const config = (kind ? configFrom(kind, field) : metadataFrom(field("config"))) as Anything;
    const made = await api.post("/api/v1/companies/{id}/iam/providers", { params: { path: { id: company } }, body: { provider_type: type, name: field("provider_name"), config } });
    await cache.invalidateQueries({ queryKey: ["company", company, "providers"] });
    await navigate(paths.companyProvider(company, made.id));
  });
  return (
    <Section title={titleOf(type)}>
      <form className={`card ${teamStyles["form"]}`} onSubmit={onSubmit}>
        <Field label="Name" name="provider_name" required maxLength={255} placeholder={`${titleOf(type)} of ours`} hint="As people see it on the sign-in page." error={problem?.field("name")} />
        <ConfigFields type={type} stored={{}} problem={problem} />
        {problem && <ProblemNote problem={problem} />}
        <div className="row">
          <Button kind="primary" type="submit" busy={busy}>Add provider</Button>
          <ButtonLink kind="quiet" to={paths.companyProviders(company)}>Cancel</ButtonLink>
        </div>
        <p className="muted">You can test it on the next page, before anybody uses it.</p>
      </form>
    </Section>
  );
}
