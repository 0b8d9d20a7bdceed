import { InProject } from "./InPlace";
import { Members } from "./Members";

export function Component() {
  return <InProject title="Members">{(place) => <Members key={place.id} place={place} />}</InProject>;
}
