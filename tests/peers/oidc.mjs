// OpenID Connect providers for tests, by two parties: oidc-provider, which is certified and strict, and
// oauth2-mock-server, whose tokens can be bent before they are signed.
//
// node oidc.mjs [redirect_uri …]   Ready when it prints one line of JSON:
//   strict   issuer that keeps emails out of the id_token, as the specification has it
//   lavish   issuer that puts all claims into the id_token
//   bent     issuer of oauth2-mock-server; control: POST {"claims": {…}} bends the tokens that follow,
//            {"userinfo": {…}} its user info, {"rotate": alg} replaces its key
// Anyone may sign in at the first two, with any password: the login is the subject, `<login>@people.example` the email,
// unverified when the login begins with "unverified", none when it begins with "nameless".

import { createServer } from 'node:http'
import { OAuth2Server } from 'oauth2-mock-server'
import Provider from 'oidc-provider'
import { ALGORITHMS, makeKey } from './keys.mjs'

const redirectUris = process.argv.length > 2
  ? process.argv.slice(2)
  : ['http://penstock.example/user/oauth/callback/peer']

function client(id, more = {}) {
  return {
    client_id: id,
    client_secret: `secret of ${id}: +/%&`,
    redirect_uris: redirectUris,
    grant_types: ['authorization_code'],
    response_types: ['code'],
    ...more,
  }
}

const clients = [
  client('penstock'),
  client('public', { client_secret: undefined, token_endpoint_auth_method: 'none' }),
  client('another'),
  ...ALGORITHMS.map((alg) => client(alg, { id_token_signed_response_alg: alg })),
]

async function findAccount(_context, id) {
  const email = id.startsWith('nameless')
    ? {}
    : { email: `${id}@People.example`, email_verified: !id.startsWith('unverified') }
  return { accountId: id, claims: async () => ({ sub: id, name: `Name of ${id}`, ...email }) }
}

async function startProvider(conformIdTokenClaims, jwks) {
  const server = createServer()
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${server.address().port}`
  const provider = new Provider(issuer, {
    clients,
    jwks,
    findAccount,
    conformIdTokenClaims,
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    cookies: { keys: ['for tests only'] },
    enabledJWA: { idTokenSigningAlgValues: ALGORITHMS },
    features: { devInteractions: { enabled: true }, introspection: { enabled: true } },
    pkce: { required: () => true },
    ttl: { AccessToken: 600, AuthorizationCode: 60, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 },
  })
  server.on('request', provider.callback())
  return issuer
}

async function startBent() {
  const server = new OAuth2Server()
  const bend = { claims: {}, userinfo: {} }
  let kid = (await server.issuer.keys.add(makeKey('RS256'))).kid
  await server.start(0, '127.0.0.1')
  server.issuer.url = `http://127.0.0.1:${server.address().port}`
  const { get } = server.issuer.keys
  server.issuer.keys.get = () => get.call(server.issuer.keys, kid)
  server.service.on('beforeTokenSigning', (token) => Object.assign(token.payload, bend.claims))
  server.service.on('beforeUserinfo', (answer) => { answer.body = { sub: 'johndoe', ...bend.userinfo } })
  const control = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    const { rotate, ...bends } = JSON.parse(text)
    Object.assign(bend, bends)
    if (rotate) kid = (await server.issuer.keys.add(makeKey(rotate))).kid
    response.end('{}')
  })
  await new Promise((resolve) => control.listen(0, '127.0.0.1', resolve))
  return { bent: server.issuer.url, control: `http://127.0.0.1:${control.address().port}` }
}

const jwks = { keys: ALGORITHMS.map((alg) => makeKey(alg, alg)) }
console.log(JSON.stringify({
  strict: await startProvider(true, jwks),
  lavish: await startProvider(false, jwks),
  ...(await startBent()),
}))
