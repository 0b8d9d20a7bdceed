/** JSON to look into. Branches below the first levels are folded and not drawn until opened, long ones in slices, so that a megabyte costs nothing. */
import { useState } from "react";

import styles from "./Code.module.css";
import { CopyButton } from "./CopyButton";
import { Icon } from "./Icon";

const SLICE = 100;
const LONG = 500;

export function JsonView({ value, label, open = 2 }: { value: unknown; label: string; open?: number }) {
  return (
    <div className={styles["json"]} role="region" aria-label={label} tabIndex={0}>
      <div className={styles["tools"]}><CopyButton text={() => JSON.stringify(value, null, 2)} label={`Copy ${label}`} /></div>
      <div className={styles["node"]}><Node value={value} depth={0} open={open} /></div>
    </div>
  );
}

function Node({ name, value, depth, open }: { name?: string; value: unknown; depth: number; open: number }) {
  const key = name !== undefined && <span className={styles["key"]}>{name}: </span>;
  if (typeof value !== "object" || value === null) return <div className={styles["line"]}>{key}<Scalar value={value} /></div>;
  return <Branch name={name} value={value as Record<string, unknown> | unknown[]} depth={depth} open={open} />;
}

function Branch({ name, value, depth, open }: { name?: string | undefined; value: Record<string, unknown> | unknown[]; depth: number; open: number }) {
  const list = Array.isArray(value);
  const count = list ? value.length : Object.keys(value).length;
  const [unfolded, setUnfolded] = useState(depth < open && count <= SLICE);
  const [shown, setShown] = useState(SLICE);
  const entries = unfolded ? (list ? value.slice(0, shown).map((one, index) => [String(index), one] as const) : Object.entries(value).slice(0, shown)) : [];
  const size = list ? `[${count}]` : `{${count}}`;
  if (count === 0) return <div className={styles["line"]}>{name !== undefined && <span className={styles["key"]}>{name}: </span>}{list ? "[]" : "{}"}</div>;
  return (
    <div>
      <button type="button" className={styles["fold"]} aria-expanded={unfolded} onClick={() => setUnfolded(!unfolded)}>
        <Icon name={unfolded ? "down" : "right"} size={13} />
        {name !== undefined && <span className={styles["key"]}>{name}</span>} <span className={styles["count"]}>{size}</span>
      </button>
      {unfolded && (
        <div className={styles["node"]}>
          {entries.map(([key, one]) => (
            <Node key={key} name={key} value={one} depth={depth + 1} open={open} />
          ))}
          {shown < count && (
            <button type="button" className={styles["more"]} onClick={() => setShown(shown + SLICE)}>
              {Math.min(SLICE, count - shown)} more of {count - shown}
            </button>
          )}
        </div>
      )}
    </div>
  );
}

function Scalar({ value }: { value: unknown }) {
  const [whole, setWhole] = useState(false);
  if (typeof value === "string") {
    const cut = !whole && value.length > LONG;
    return (
      <span className={styles["string"]}>
        {JSON.stringify(cut ? value.slice(0, LONG) : value)}
        {cut && <button type="button" className={styles["more"]} onClick={() => setWhole(true)}>… all {value.length} characters</button>}
      </span>
    );
  }
  if (typeof value === "number") return <span className={styles["number"]}>{String(value)}</span>;
  return <span className={styles["word"]}>{String(value)}</span>;
}
