import { ViewportPortal } from "@xyflow/react";
import { memo } from "react";

import styles from "./Graph.module.css";
import { labelWidth, type Layout } from "./layout";

/** All ways of a graph in one drawing, above the groups and below the tasks. */
export const Lines = memo(function Lines({ layout }: { layout: Layout }) {
  return (
    <ViewportPortal>
      <svg className={styles["lines"]} width={layout.width} height={layout.height} aria-hidden="true">
        <defs>
          <marker id="graph-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse">
            <path d="M0.5 0.8L7 4L0.5 7.2z" />
          </marker>
        </defs>
        {layout.lines.map((line) => (
          <path key={line.key} d={line.path} className={line.dashed ? styles["dashed"] : undefined} markerEnd="url(#graph-arrow)" />
        ))}
      </svg>
      {layout.lines.map((line) => line.at && (
        <span key={line.key} className={styles["label"]} title={line.label}
          style={{ transform: `translate(${line.at.x}px, ${line.at.y}px) translate(-50%, -50%)`, maxWidth: labelWidth(line.label) + 8 }}>
          {line.label}
        </span>
      ))}
    </ViewportPortal>
  );
});
