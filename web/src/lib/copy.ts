/** Into the clipboard, also where the console is served without TLS and the browser's own way is closed. */
export async function copy(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const before = document.activeElement as HTMLElement | null;
  const held = document.createElement("textarea");
  held.value = text;
  held.setAttribute("aria-hidden", "true");
  held.style.position = "fixed";
  held.style.opacity = "0";
  // Inside an open dialog: whatever is outside of it cannot be selected.
  (before?.closest("dialog") ?? document.body).append(held);
  held.select();
  document.execCommand("copy");
  held.remove();
  before?.focus();
}
