export const STATUSES = ["pending", "running", "completed", "failed", "cancelled"] as const;

/** As many as the server counts where it would have to look at each; of a project alone it knows the number. */
const COUNTED = 5_000;

/** "1 execution", "37 executions", "5,000 executions or more": `reached` is how far this page goes. */
export function found(total: number, reached: number): string {
  const more = total === COUNTED || (total > COUNTED && total === reached) ? " or more" : "";
  return `${total.toLocaleString("en")} ${total === 1 ? "execution" : "executions"}${more}`;
}
