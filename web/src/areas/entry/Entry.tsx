/** Around the pages of somebody who is not signed in. */
import type { ReactNode } from "react";
import { Link } from "react-router";

import { useTitle } from "@/frame/title";
import mark from "@/mark.svg";
import { paths } from "@/paths";
import styles from "./Entry.module.css";

export function Entry({ title, about, children }: { title: string; about?: ReactNode; children: ReactNode }) {
  useTitle(title);
  return (
    <div className={styles["screen"]}>
      <header>
        <Link to={paths.signIn()} className={styles["brand"]}>
          <img src={mark} alt="" width={28} height={28} /> Penstock
        </Link>
      </header>
      <main className={styles["card"]}>
        <h1 tabIndex={-1}>{title}</h1>
        {about && <p>{about}</p>}
        {children}
      </main>
      <footer className={`muted ${styles["small"]}`}>Workflows that run in order, and never get lost.</footer>
    </div>
  );
}
