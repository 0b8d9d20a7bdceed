/** The least that is valid and does something. The DSL's names are like those of hosts: small letters, digits, hyphens. */
export function emptyDefinition(name: string): string {
  const plain = name.normalize("NFKD").toLowerCase().replace(/[^a-z0-9]+/g, "-").slice(0, 60).replace(/^-+|-+$/g, "");
  return `document:
  dsl: '1.0.3'
  namespace: default
  name: ${plain || "my-workflow"}
  version: '0.1.0'
do:
  - greet:
      set:
        message: \${ "Hello " + (.name // "world") }
`;
}
