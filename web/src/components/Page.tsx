import type { ReactNode } from "react";
import { Link } from "react-router";

import { useTitle } from "@/frame/title";
import { Icon } from "./Icon";
import styles from "./Page.module.css";

interface PageProps {
  title: string;
  /** The title as shown, when it is more than text. */
  heading?: ReactNode;
  about?: ReactNode;
  crumbs?: { to: string; label: string }[];
  actions?: ReactNode;
  /** As wide as the window: graphs and timelines. */
  full?: boolean;
  children: ReactNode;
}

/** Every page begins with this: the document's title, one `h1`, what one can do here. */
export function Page({ title, heading, about, crumbs, actions, full, children }: PageProps) {
  useTitle(title);
  return (
    <div className={`${styles["page"]} ${full ? styles["full"] : ""}`}>
      <header className={styles["head"]}>
        <div className={styles["titles"]}>
          {crumbs && crumbs.length > 0 && (
            <nav aria-label="Breadcrumb" className={styles["crumbs"]}>
              {crumbs.map((crumb) => (
                <span key={crumb.to}>
                  <Link to={crumb.to} title={crumb.label}>{crumb.label}</Link> <Icon name="right" size={12} />
                </span>
              ))}
            </nav>
          )}
          <h1 tabIndex={-1}>{heading ?? title}</h1>
          {about && <p className={styles["about"]}>{about}</p>}
        </div>
        {actions && <div className="row">{actions}</div>}
      </header>
      {children}
    </div>
  );
}

export function Section({ title, actions, children }: { title: string; actions?: ReactNode; children: ReactNode }) {
  return (
    <section className={styles["section"]}>
      <div className="spread">
        <h2>{title}</h2>
        {actions && <div className="row">{actions}</div>}
      </div>
      {children}
    </section>
  );
}
