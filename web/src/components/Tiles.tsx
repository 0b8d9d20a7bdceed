/** Cards to choose from, in a box of the class `tiles`: links to places, or buttons of which one is picked. */
import type { ReactNode } from "react";
import { Link, type LinkProps } from "react-router";

import { Icon, type IconName } from "./Icon";
import styles from "./Tiles.module.css";

interface Content {
  title: string;
  icon?: IconName;
  /** A place that is not there yet. */
  fresh?: boolean;
  children?: ReactNode;
}

export function TileLink({ title, icon, fresh, children, ...link }: Content & LinkProps) {
  return <Link {...link} className={look(fresh)}><Inside {...{ title, icon, children }} /></Link>;
}

export function TileButton({ title, icon, fresh, children, picked, onPick }: Content & { picked: boolean; onPick: () => void }) {
  return <button type="button" className={look(fresh)} aria-pressed={picked} onClick={onPick}><Inside {...{ title, icon, children }} /></button>;
}

const look = (fresh: boolean | undefined) => `card ${styles["tile"]} ${fresh ? styles["fresh"] : ""}`;

function Inside({ title, icon, children }: Pick<Content, "title" | "children"> & { icon: IconName | undefined }) {
  return (
    <>
      <b>{icon && <Icon name={icon} />} {title}</b>
      {children && <span>{children}</span>}
    </>
  );
}
