import { ButtonLink, EmptyState } from "@/components";
import { paths } from "@/paths";
import type { Place } from "./access";
import { type Role, withArticle } from "./roles";
import styles from "./Team.module.css";

const membersOf = (place: Place) => (place.kind === "company" ? paths.companyMembers(place.id) : paths.projectMembers(place.id));

/** In place of a page that one's role does not open: what it would be, what it needs, and whom to ask. */
export function Needs({ role, own, place, what, children }: { role: Role; own: string; place: Place; what: string; children: string }) {
  return (
    <div className="card">
      <EmptyState icon="shield" title={`${what} needs the role ${role}`} actions={<ButtonLink icon="people" to={membersOf(place)}>See whom to ask</ButtonLink>}>
        {children} You are {withArticle(own)} of {place.name}; an admin or owner can give you a higher role.
      </EmptyState>
    </div>
  );
}

/** Over a page that one may read and not change. */
export function ReadOnly({ role, own, place, to }: { role: Role; own: string | undefined; place: Place; to: string }) {
  if (own === undefined) return null;
  return (
    <p className={styles["note"]}>
      You are {withArticle(own)} of {place.name}. To {to}, one needs to be {withArticle(role)} or above.
    </p>
  );
}
