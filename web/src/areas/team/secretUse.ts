/** Which definitions mention a secret: as a whole word, so that KEY is not found in API_KEY. Comments count, too. */
export interface Mention {
  id: string;
  name: string;
}

export function mentionedIn(secret: string, workflows: (Mention & { config_yaml: string })[]): Mention[] {
  if (!secret) return [];
  const name = secret.replace(/[.\-]/g, "\\$&");
  const word = new RegExp(`(?:(?<![\\w.-])|\\$secrets\\.)${name}(?![\\w-])`);
  return workflows.filter((one) => word.test(one.config_yaml)).map(({ id, name }) => ({ id, name }));
}
