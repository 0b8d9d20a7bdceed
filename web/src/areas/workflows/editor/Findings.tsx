import { Icon } from "@/components";
import type { Examined } from "../data";
import styles from "./Editor.module.css";

/** What the check found, to go to. */
export function Findings({ findings, onGo }: { findings: Examined["errors"]; onGo: (line: number, column: number) => void }) {
  if (findings.length === 0) return null;
  return (
    <section className={styles["findings"]} aria-label="Problems">
      <ul>
        {findings.map((one, index) => (
          <li key={index}>
            <button type="button" onClick={() => onGo(one.line, one.column)}>
              <span className={one.severity === "error" ? styles["error"] : styles["warning"]}><Icon name="alert" size={14} /><span className="visually-hidden">{one.severity}</span></span>
              <span className={styles["where"]}>{one.line}:{one.column}</span>
              <span>{one.message}</span>
              <code>{one.code}</code>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
