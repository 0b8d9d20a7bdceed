import { CopyButton } from "./CopyButton";
import styles from "./Code.module.css";

/** Text as it is, to read and to copy; for editing there is the editor, which is loaded when needed. */
export function CodeBlock({ text, label }: { text: string; label: string }) {
  return (
    <div className={styles["block"]}>
      <pre tabIndex={0} role="region" aria-label={label}><code>{text}</code></pre>
      <div className={styles["tools"]}><CopyButton text={text} label={`Copy ${label}`} /></div>
    </div>
  );
}

export function KeyboardHint({ keys }: { keys: string }) {
  return <kbd className={styles["kbd"]}>{keys}</kbd>;
}
