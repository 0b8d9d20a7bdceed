/** Rows of the same kind. Few are drawn as they are; of many (`height` given) only those in sight. */
import { useVirtualizer } from "@tanstack/react-virtual";
import { type CSSProperties, type ReactNode, useRef } from "react";

import { Icon } from "./Icon";
import styles from "./Table.module.css";

export interface Column<Row> {
  key: string;
  head: ReactNode;
  cell: (row: Row) => ReactNode;
  /** A track of CSS grid: `minmax(12rem, 2fr)`, `max-content`, `8rem`. Virtual tables need fixed or `fr` tracks. */
  width?: string;
  align?: "end";
  /** Left out on a phone. */
  wide?: boolean;
  sortable?: boolean;
}

export interface Sort {
  key: string;
  descending: boolean;
}

interface TableProps<Row> {
  label: string;
  columns: Column<Row>[];
  rows: Row[];
  rowKey: (row: Row) => string | number;
  sort?: Sort;
  onSort?: (sort: Sort) => void;
  /** Shown in place of rows when there are none: an `EmptyState` that teaches. */
  empty?: ReactNode;
  /** With a height (`"32rem"`) the rows scroll inside it and are virtual; each is `rowHeight` pixels high. */
  height?: string;
  rowHeight?: number;
}

export function Table<Row>(props: TableProps<Row>) {
  const { label, columns, rows, empty, height } = props;
  if (rows.length === 0 && empty) return <div className={styles["frame"]}>{empty}</div>;
  return (
    <div className={styles["frame"]} style={tracksOf(columns)}>
      {height ? (
        <VirtualTable {...props} height={height} />
      ) : (
        <div className={styles["scroll"]}>
          <div role="table" aria-label={label} className={styles["table"]}>
            <Head {...props} />
            <div role="rowgroup" className={styles["body"]} style={{ display: "contents" }}>
              {rows.map((row) => (
                <div role="row" key={props.rowKey(row)} className={styles["row"]}>
                  <Cells columns={columns} row={row} />
                </div>
              ))}
            </div>
          </div>
        </div>
      )}
    </div>
  );
}

function tracksOf<Row>(columns: Column<Row>[]): CSSProperties {
  const tracks = (some: Column<Row>[]) => some.map((column) => column.width ?? "minmax(6rem, 1fr)").join(" ");
  return { "--tracks": tracks(columns), "--tracks-phone": tracks(columns.filter((column) => !column.wide)) } as CSSProperties;
}

function Head<Row>({ columns, sort, onSort }: TableProps<Row>) {
  return (
    <div role="rowgroup" style={{ display: "contents" }}>
      <div role="row" className={`${styles["row"]} ${styles["head"]}`}>
        {columns.map((column) => {
          const sorted = sort?.key === column.key;
          const direction = sorted ? (sort.descending ? "descending" : "ascending") : undefined;
          return (
            <div key={column.key} role="columnheader" aria-sort={direction} className={classes(column)}>
              {column.sortable && onSort ? (
                <button type="button" className={styles["sort"]} onClick={() => onSort({ key: column.key, descending: sorted ? !sort.descending : false })}>
                  {column.head} <Icon name={sorted ? (sort.descending ? "down" : "up") : "sort"} size={12} />
                </button>
              ) : (
                column.head
              )}
            </div>
          );
        })}
      </div>
    </div>
  );
}

function Cells<Row>({ columns, row }: { columns: Column<Row>[]; row: Row }) {
  return columns.map((column, index) => (
    <div key={column.key} role="cell" className={`${classes(column)} ${index === 0 ? styles["link"] : ""}`}>
      {column.cell(row)}
    </div>
  ));
}

function classes<Row>(column: Column<Row>): string {
  return [styles["cell"], column.align === "end" && styles["end"], column.wide && styles["wide"]].filter(Boolean).join(" ");
}

function VirtualTable<Row>(props: TableProps<Row> & { height: string }) {
  const { label, columns, rows, rowKey, height, rowHeight = 37 } = props;
  const scroll = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({ count: rows.length, getScrollElement: () => scroll.current, estimateSize: () => rowHeight, overscan: 12 });
  return (
    <div ref={scroll} className={styles["scroll"]} style={{ height, maxHeight: "80dvh" }} tabIndex={0} role="region" aria-label={label}>
      <div role="table" aria-label={label} aria-rowcount={rows.length + 1}>
        <div className={styles["own"]} style={{ position: "sticky", top: 0, zIndex: 1 }}>
          <Head {...props} />
        </div>
        <div role="rowgroup" className={styles["body"]} style={{ height: virtual.getTotalSize(), position: "relative" }}>
          {virtual.getVirtualItems().map((item) => {
            const row = rows[item.index] as Row;
            return (
              <div role="row" key={rowKey(row)} aria-rowindex={item.index + 2} className={`${styles["row"]} ${styles["own"]} ${styles["virtual"]}`}
                style={{ height: item.size, transform: `translateY(${item.start}px)` }}>
                <Cells columns={columns} row={row} />
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}
