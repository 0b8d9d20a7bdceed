import type { ReactNode } from "react";

import { Icon, type IconName } from "./Icon";
import styles from "./States.module.css";

/** Nothing here yet: what this place is for, and the first step. */
export function EmptyState({ icon, title, children, actions }: { icon: IconName; title: string; children?: ReactNode; actions?: ReactNode }) {
  return (
    <div className={styles["empty"]}>
      <span className={styles["badge"]}><Icon name={icon} size={22} /></span>
      <h2>{title}</h2>
      {children && <p>{children}</p>}
      {actions && <div className="row">{actions}</div>}
    </div>
  );
}
