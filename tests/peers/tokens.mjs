// Authorities that hand out tokens without a browser, by two parties: oidc-provider, which is certified and strict
// about how a client proves who it is, and oauth2-mock-server, which knows passwords and refresh tokens.
//
// node tokens.mjs <jwk>   Ready when it prints one line of JSON: {strict, mock}, their issuers.
// The strict one has a client for each method, called after it; `jwk` is the key of private_key_jwt.
// Whether a token is one of its own is told by its /token/introspection, to the client client_secret_basic.

import { createServer } from 'node:http'
import { OAuth2Server } from 'oauth2-mock-server'
import Provider from 'oidc-provider'
import { makeKey } from './keys.mjs'

const METHODS = ['client_secret_post', 'client_secret_basic', 'client_secret_jwt', 'private_key_jwt']

function client(method) {
  return {
    client_id: method,
    client_secret: method === 'private_key_jwt' ? undefined : `a secret of ${method}: +/%&, long enough`,
    jwks: method === 'private_key_jwt' ? { keys: [JSON.parse(process.argv[2])] } : undefined,
    redirect_uris: [],
    response_types: [],
    grant_types: ['client_credentials'],
    scope: 'api',
    token_endpoint_auth_method: method,
  }
}

async function startStrict() {
  const server = createServer()
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${server.address().port}`
  const provider = new Provider(issuer, {
    clients: METHODS.map(client),
    scopes: ['api'],
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: false },
      introspection: { enabled: true },
    },
    ttl: { ClientCredentials: 600 },
  })
  server.on('request', provider.callback())
  return issuer
}

async function startMock() {
  const server = new OAuth2Server()
  await server.issuer.keys.add(makeKey('RS256'))
  await server.start(0, '127.0.0.1')
  server.issuer.url = `http://127.0.0.1:${server.address().port}`
  return server.issuer.url
}

console.log(JSON.stringify({ strict: await startStrict(), mock: await startMock() }))
