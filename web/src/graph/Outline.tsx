/** The same graph as a list: for screen readers, for small screens, and for whoever likes lists. */
import { Status } from "@/components";
import styles from "./Graph.module.css";
import { KindIcon } from "./KindIcon";
import { detailOf, isTask, kindWord, nameOf, type NodeStates, type OutlineItem } from "./model";

interface OutlineProps {
  items: OutlineItem[];
  states: NodeStates;
  selected: string | null;
  onSelect?: ((reference: string | null) => void) | undefined;
}

export function Outline({ items, ...rest }: OutlineProps) {
  return (
    <ul className={styles["outline"]}>
      {items.map((item) => (
        <li key={item.node.id}>
          <Item item={item} {...rest} />
          {item.inside.length > 0 && <Outline items={item.inside} {...rest} />}
        </li>
      ))}
    </ul>
  );
}

function Item({ item: { node }, states, selected, onSelect }: Omit<OutlineProps, "items"> & { item: OutlineItem }) {
  if (!isTask(node)) return <span className={styles["outlineNote"]}>When caught</span>;
  const state = states.get(node.reference);
  const chosen = selected === node.reference;
  return (
    <button type="button" className={styles["outlineItem"]} aria-pressed={chosen} onClick={() => onSelect?.(chosen ? null : node.reference)}>
      <KindIcon kind={node.kind} />
      <b>{nameOf(node)}</b>
      <small>{detailOf(node) || kindWord(node.kind)}</small>
      {state && <Status status={state.status} />}
    </button>
  );
}
