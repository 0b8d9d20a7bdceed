// Before the first paint: a page that turns dark after it was light hurts the eyes. The policy allows no inline script.
try {
  const chosen = localStorage.getItem("penstock.theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // Storage is refused: the system's choice holds.
}
