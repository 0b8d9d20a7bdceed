// An LDAP directory for tests, by ldapjs.
//
// node ldap.mjs key.pem certificate.pem   Ready when it prints one line of JSON: `plain` (ldap://), `tls` (ldaps://).
// cn=reader / "read me" may search. People under ou=people: ann, bob, and two who share the name "twin"; the password is
// the uid and "'s password". Groups under ou=groups: engineers (ann), everyone (ann, bob).

import { readFileSync } from 'node:fs'
import ldap from 'ldapjs'

const BASE = 'dc=example,dc=com'
const [key, certificate] = process.argv.slice(2, 4).map((path) => readFileSync(path, 'utf8'))
const same = (dn) => dn.toString().toLowerCase().replaceAll(', ', ',')

const person = (uid, more = {}) => ({
  dn: `uid=${uid},ou=people,${BASE}`,
  password: `${uid}'s password`,
  attributes: {
    objectclass: ['inetOrgPerson'], uid: [uid], cn: [`Name of ${uid}`], mail: [`${uid}@Example.org`],
    entryuuid: [`00000000-0000-4000-8000-${uid.padEnd(12, '0').split('').map((c) => (c.charCodeAt(0) % 10)).join('')}`],
    ...more,
  },
})
const group = (name, ...members) => ({
  dn: `cn=${name},ou=groups,${BASE}`,
  attributes: {
    objectclass: ['groupOfNames'], cn: [name], member: members.map((uid) => `uid=${uid},ou=people,${BASE}`),
  },
})
const entries = [
  { dn: BASE, attributes: { objectclass: ['domain'], dc: ['example'] } },
  { dn: `cn=reader,${BASE}`, password: 'read me', attributes: { objectclass: ['person'], cn: ['reader'] } },
  person('ann'), person('bob'),
  person('twin1', { cn: ['twin'] }), person('twin2', { cn: ['twin'] }),
  group('engineers', 'ann'), group('everyone', 'ann', 'bob'),
]

// TLS spoken to the plain port makes ldapjs throw where nobody can catch it; tests do just that.
process.on('uncaughtException', () => {})

function serve(server) {
  const bind = (request, response, next) => {
    const entry = entries.find((one) => one.dn.toLowerCase() === same(request.dn))
    // Like most directories: a name without a password is nobody in particular, and is let in.
    if (request.credentials !== '' && entry?.password !== request.credentials)
      return next(new ldap.InvalidCredentialsError())
    response.end()
    return next()
  }
  server.bind('', bind)
  server.bind(BASE, bind)
  server.search(BASE, (request, response, next) => {
    if (same(request.connection.ldap.bindDN) !== `cn=reader,${BASE}`)
      return next(new ldap.InsufficientAccessRightsError())
    const base = same(request.dn)
    if (!entries.some((one) => one.dn === base)) return next(new ldap.NoSuchObjectError(base))
    for (const { dn, attributes } of entries) {
      const inside = request.scope === 'base' || request.scope === 0 ? dn === base : dn.endsWith(base)
      if (inside && request.filter.matches(attributes, false)) response.send({ dn, attributes })
    }
    response.end()
    return next()
  })
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server.port)))
}

const [plain, tls] = [await serve(ldap.createServer()), await serve(ldap.createServer({ key, certificate }))]
console.log(JSON.stringify({ plain: `ldap://127.0.0.1:${plain}`, tls: `ldaps://localhost:${tls}` }))
