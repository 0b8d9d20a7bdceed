/** Between the first script and the first page: nothing that would flash by. */
export function Starting() {
  return <div role="status" aria-label="Loading" />;
}
