/** What each type of identity provider is told: one form for each, as the server's `config` has it. */
export const MASK = "********";

export interface ConfigField {
  name: string;
  label: string;
  /** `lines`: one entry on each. `secret` is never shown again. */
  kind: "text" | "url" | "secret" | "lines" | "area" | "check";
  required?: boolean;
  hint?: string;
  placeholder?: string;
  /** Of a box: whether it is ticked from the beginning. */
  ticked?: boolean;
}

export interface KindOfProvider {
  title: string;
  about: string;
  /** Whether people can come in through it; else it only answers who somebody is. */
  signsIn: boolean;
  fields: ConfigField[];
}

export const KINDS: Record<string, KindOfProvider> = {
  oidc: {
    title: "OpenID Connect",
    about: "Okta, Entra ID, Google Workspace, Keycloak, Auth0 and most others.",
    signsIn: true,
    fields: [
      { name: "issuer", label: "Issuer", kind: "url", required: true, placeholder: "https://login.example.com", hint: "Its discovery document is found from here." },
      { name: "client_id", label: "Client id", kind: "text", required: true },
      { name: "client_secret", label: "Client secret", kind: "secret" },
      { name: "scopes", label: "Scopes", kind: "lines", placeholder: "openid\nprofile\nemail", hint: "One on each line. Left empty: openid, profile and email." },
      { name: "groups_claim", label: "Claim with the groups", kind: "text", placeholder: "groups" },
      { name: "discovery_url", label: "Discovery address", kind: "url", hint: "Only where it is not below the issuer." },
      { name: "trust_email", label: "Emails count as verified although the provider does not say so", kind: "check" },
    ],
  },
  saml: {
    title: "SAML 2.0",
    about: "AD FS, Shibboleth, and the older side of Okta and Entra ID.",
    signsIn: true,
    fields: [
      { name: "metadata_url", label: "Address of its metadata", kind: "url", placeholder: "https://idp.example.com/metadata" },
      { name: "metadata_xml", label: "Or the metadata itself", kind: "area", placeholder: "<EntityDescriptor …>", hint: "XML. Give the address or the text, not both." },
      { name: "domains", label: "Email domains", kind: "lines", placeholder: "example.com", hint: "One on each line: whose emails it may assert." },
      { name: "groups_attribute", label: "Attribute with the groups", kind: "text", placeholder: "groups" },
    ],
  },
  ldap: {
    title: "LDAP",
    about: "Active Directory, OpenLDAP: user names and passwords of a directory.",
    signsIn: true,
    fields: [
      { name: "url", label: "Address", kind: "text", required: true, placeholder: "ldaps://directory.example.com" },
      { name: "base_dn", label: "Base DN", kind: "text", required: true, placeholder: "ou=people,dc=example,dc=com" },
      { name: "bind_dn", label: "Bind DN", kind: "text", placeholder: "cn=reader,dc=example,dc=com", hint: "Who searches. Left empty: nobody in particular." },
      { name: "bind_password", label: "Bind password", kind: "secret" },
      { name: "user_filter", label: "Filter for a user", kind: "text", placeholder: "(uid={username})" },
      { name: "group_filter", label: "Filter for groups", kind: "text", placeholder: "(member={dn})" },
      { name: "start_tls", label: "For ldap://, encrypt before a password is sent", kind: "check", ticked: true },
      { name: "ca_certificate", label: "Certificates to trust", kind: "area", placeholder: "-----BEGIN CERTIFICATE-----", hint: "PEM. Left empty: those of the system." },
    ],
  },
  kubernetes: {
    title: "Kubernetes",
    about: "Service accounts of a cluster, by its token reviews.",
    signsIn: false,
    fields: [
      { name: "server", label: "API server", kind: "url", required: true, placeholder: "https://cluster.example.com:6443" },
      { name: "token", label: "Token", kind: "secret", required: true },
      { name: "ca_certificate", label: "Certificates to trust", kind: "area", placeholder: "-----BEGIN CERTIFICATE-----" },
      { name: "cluster_name", label: "Name of the cluster", kind: "text" },
    ],
  },
  aws_iam: {
    title: "AWS IAM",
    about: "Users and roles of an AWS account.",
    signsIn: false,
    fields: [
      { name: "region", label: "Region", kind: "text", required: true, placeholder: "eu-central-1" },
      { name: "access_key_id", label: "Access key id", kind: "text", required: true, placeholder: "AKIA…" },
      { name: "secret_access_key", label: "Secret access key", kind: "secret", required: true },
      { name: "role_arn", label: "Role to assume", kind: "text", placeholder: "arn:aws:iam::123456789012:role/penstock" },
      { name: "endpoint_url", label: "Endpoint", kind: "url", hint: "Only where it is not AWS's own." },
    ],
  },
};

export const CUSTOM = { title: "Custom", about: "A type that this server's operator added. What it is told is up to it.", signsIn: false };

export function titleOf(type: string): string {
  return KINDS[type]?.title ?? (type === "custom" ? CUSTOM.title : type);
}

/** What the form shows for a stored value. A secret that is stored is not shown: the field is empty, and left so keeps it. */
export function shownOf(field: ConfigField, stored: unknown): string {
  if (field.kind === "secret" || stored === undefined || stored === null) return "";
  return Array.isArray(stored) ? stored.join("\n") : String(stored);
}

/** The form's fields as `config`. What was left empty is left out; a stored secret that was left empty is kept. */
export function configFrom(kind: KindOfProvider, value: (name: string) => string, stored: Record<string, unknown> = {}): Record<string, unknown> {
  const given = kind.fields.flatMap((field): [string, unknown][] => {
    const text = value(field.name);
    if (field.kind === "check") return [[field.name, text === "on"]];
    if (field.kind === "secret") return text ? [[field.name, text]] : stored[field.name] ? [[field.name, MASK]] : [];
    const lines = text.split(/[\n,]/).map((line) => line.trim()).filter(Boolean);
    if (field.kind === "lines") return lines.length ? [[field.name, lines]] : [];
    return text.trim() ? [[field.name, text.trim()]] : [];
  });
  return Object.fromEntries(given);
}
