/** Which task the arrow keys have come to. The page shows it a moment later, and keys do not wait for that. */
export class Cursor {
  private at: string | null = null;
  private asked: string[] = [];

  /** The page shows this: one that was asked for, or what somebody chose otherwise. */
  shown(selected: string | null): void {
    const found = selected === null ? -1 : this.asked.indexOf(selected);
    this.asked = found < 0 ? [] : this.asked.slice(found + 1);
    if (found < 0) this.at = selected;
  }

  /** The next of these, or the one before; from nowhere, the first or the last. */
  move(references: string[], step: 1 | -1): string | undefined {
    const from = this.at === null ? -1 : references.indexOf(this.at);
    const last = references.length - 1;
    const to = from < 0 ? (step > 0 ? 0 : last) : Math.min(last, Math.max(0, from + step));
    const next = references[to];
    if (next === undefined) return undefined;
    if (next !== this.at) this.asked.push(next);
    this.at = next;
    return next;
  }
}
