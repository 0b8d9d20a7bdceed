import type { ReactNode } from "react";

import styles from "./Figures.module.css";

export interface Figure {
  name: string;
  value: ReactNode;
  note?: string | undefined;
  /** Something to look at first. */
  bad?: boolean;
}

/** A few numbers that say how things are. */
export function Figures({ figures }: { figures: readonly Figure[] }) {
  return (
    <dl className={styles["figures"]}>
      {figures.map(({ name, value, note, bad }) => (
        <div key={name} className={`card ${bad ? styles["bad"] : ""}`}>
          <dt>{name}</dt>
          <dd><b>{value}</b> {note && <small>{note}</small>}</dd>
        </div>
      ))}
    </dl>
  );
}
