/** The end of a company, an organization or a project: what goes with it, typed confirmation, force when something runs. */
import { useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { useNavigate } from "react-router";

import { Button, DeleteDialog, Section, toast } from "@/components";
import { useScope } from "@/frame/scope";
import type { Place } from "./access";
import styles from "./Team.module.css";

export function DangerZone({ place, own, remove, then, children }: {
  place: Place;
  own: string | undefined;
  remove: (force: boolean) => Promise<unknown>;
  /** Where to go afterwards. */
  then: string;
  children: ReactNode;
}) {
  const [open, setOpen] = useState(false);
  const cache = useQueryClient();
  const navigate = useNavigate();
  const { place: at, enter } = useScope();
  const mine = own === "owner";
  return (
    <Section title={`Delete the ${place.word}`}>
      <div className={styles["danger"]}>
        <p>{mine ? `Everything in ${place.name} goes with it, for good.` : "Only an owner can delete it."}</p>
        {mine && <Button kind="danger" icon="trash" onClick={() => setOpen(true)}>Delete {place.word}</Button>}
      </div>
      <DeleteDialog
        open={open}
        onClose={() => setOpen(false)}
        what={place.word}
        name={place.name}
        force="Stop the active workflows, cancel what runs, and delete all the same"
        onDelete={async (force) => {
          await remove(force);
          await navigate(then, { replace: true });
          toast(`${place.name} was deleted`);
          for (const key of ["companies", "organizations", "projects"]) await cache.invalidateQueries({ queryKey: [key] });
          cache.removeQueries({ queryKey: [place.kind, place.id] });
          // Else the links of what is gone stay beside the page.
          enter({ company: at.company === place.id ? null : at.company, project: null });
        }}
      >
        {children}
      </DeleteDialog>
    </Section>
  );
}
