import { InCompany } from "./InPlace";
import { Members } from "./Members";

export function Component() {
  return <InCompany title="Members">{(place) => <Members key={place.id} place={place} />}</InCompany>;
}
