import { Button, Dialog, DialogActions, Field, ProblemNote } from "@/components";
import { useSubmit } from "@/lib/useSubmit";
import type { Place } from "./access";
import { addMember, changeMember } from "./membership";
import { RoleChoice } from "./RoleChoice";
import { type Access, givenHere, type Role } from "./roles";
import styles from "./Team.module.css";

interface Around {
  place: Place;
  own: string | undefined;
  onClose: () => void;
  onDone: (text: string) => Promise<void>;
}

export function AddMember({ open, ...around }: Around & { open: boolean }) {
  return (
    <Dialog open={open} onClose={around.onClose} title={`Add to ${around.place.name}`}>
      <AddForm {...around} />
    </Dialog>
  );
}

function AddForm({ place, own, onClose, onDone }: Around) {
  const { busy, problem, onSubmit } = useSubmit(async (field) => {
    await addMember(place, { email: field("email").trim() }, field("role"));
    await onDone(`${field("email").trim()} is ${field("role")} of ${place.name}`);
  });
  const unknown = problem?.status === 404 ? "Nobody has an account with this email yet. Ask them to sign up first." : problem?.field("email");
  return (
    <form className={styles["form"]} onSubmit={onSubmit}>
      <Field label="Email" name="email" type="email" required autoFocus autoComplete="off" hint="Of an account on this server." error={unknown} />
      <RoleChoice own={own} />
      {problem && problem.status !== 404 && <ProblemNote problem={problem} />}
      <DialogActions>
        <Button onClick={onClose}>Cancel</Button>
        <Button kind="primary" type="submit" busy={busy}>Add member</Button>
      </DialogActions>
    </form>
  );
}

export function ChangeRole({ person, ...around }: Around & { person: Access | null }) {
  const name = person?.user.display_name || person?.user.email || "";
  return (
    <Dialog open={person !== null} onClose={around.onClose} title={`Role of ${name}`}>
      {person && <ChangeForm person={person} name={name} {...around} />}
    </Dialog>
  );
}

function ChangeForm({ person, name, place, own, onClose, onDone }: Around & { person: Access; name: string }) {
  const here = givenHere(person, place.id);
  const { busy, problem, onSubmit } = useSubmit(async (field) => {
    if (here) await changeMember(place, person.user.id, field("role"));
    else await addMember(place, { user_id: person.user.id }, field("role"));
    await onDone(`${name} is ${field("role")} of ${place.name}`);
  });
  const from = person.through[0];
  return (
    <form className={styles["form"]} onSubmit={onSubmit}>
      {!here && from && (
        <p className="muted">
          Now {from.role}, from the {from.level} {from.name}{from.provider && `, by ${from.provider}`}. A role given here counts before it, also when it is lower.
        </p>
      )}
      <RoleChoice own={own} chosen={person.role as Role} />
      {problem && <ProblemNote problem={problem} />}
      <DialogActions>
        <Button onClick={onClose}>Cancel</Button>
        <Button kind="primary" type="submit" busy={busy}>Change role</Button>
      </DialogActions>
    </form>
  );
}
