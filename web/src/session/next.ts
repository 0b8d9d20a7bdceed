/** Where to go after signing in: a path of this site, and nothing that a browser would read as another one. */
export function safeNext(given: string | null | undefined): string {
  if (!given || !/^\/(?![/\\])/.test(given) || /[\u0000-\u001f\\]/.test(given)) return "/";
  return given;
}

export function withNext(path: string, next: string | null | undefined): string {
  const safe = safeNext(next);
  return safe === "/" ? path : `${path}?next=${encodeURIComponent(safe)}`;
}
