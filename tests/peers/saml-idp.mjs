// A SAML identity provider for tests, by samlify: it checks our signed requests and posts signed responses back.
//
// Ready when it prints one line of JSON. GET /metadata (?rotating=1: two certificates), PUT /sp (our metadata),
// GET /sso (a sign-in that we began), GET /initiate (one that begins here). The person and the kind of response are
// chosen by more query parameters, which no signature covers: email, name_id, sign (assertion|response|both),
// key (first|second), encrypt (gcm|cbc), algorithm, audience.

import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { randomBytes } from 'node:crypto'
import samlify from 'samlify'

// Well-formedness is enough for a peer; the signature of each request is what it must check.
samlify.setSchemaValidator({ validate: async () => 'OK' })

const EMAIL_FORMAT = 'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress'
const BASIC = 'urn:oasis:names:tc:SAML:2.0:attrname-format:basic'
const CIPHERS = {
  gcm: 'http://www.w3.org/2009/xmlenc11#aes256-gcm',
  cbc: 'http://www.w3.org/2001/04/xmlenc#aes256-cbc',
}

function makeKey(name) {
  const folder = mkdtempSync(join(tmpdir(), 'saml-idp-'))
  const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')]
  execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-sha256', '-nodes', '-days', '2',
    '-subj', `/CN=${name}`, '-keyout', key, '-out', certificate], { stdio: 'ignore' })
  const pair = { key: readFileSync(key, 'utf8'), certificate: readFileSync(certificate, 'utf8') }
  rmSync(folder, { recursive: true })
  return pair
}

const keys = { first: makeKey('first'), second: makeKey('second') }
let ourMetadata = ''

const template = samlify.SamlLib.defaultLoginResponseTemplate.context.replace(
  '{AuthnStatement}',
  '<saml:AuthnStatement AuthnInstant="{IssueInstant}" SessionIndex="{SessionIndex}"><saml:AuthnContext>' +
    '<saml:AuthnContextClassRef>urn:oasis:names:tc:SAML:2.0:ac:classes:Password</saml:AuthnContextClassRef>' +
    '</saml:AuthnContext></saml:AuthnStatement>',
)

function identityProvider(url, choice) {
  const pair = keys[choice.get('key') ?? 'first']
  return samlify.IdentityProvider({
    entityID: `${url}/metadata`,
    privateKey: pair.key,
    signingCert: choice.has('rotating') ? [keys.first.certificate, keys.second.certificate] : pair.certificate,
    wantAuthnRequestsSigned: true,
    nameIDFormat: [EMAIL_FORMAT],
    singleSignOnService: [{ Binding: samlify.Constants.namespace.binding.redirect, Location: `${url}/sso` }],
    // Not served; samlify warns at each start without one.
    singleLogoutService: [{ Binding: samlify.Constants.namespace.binding.redirect, Location: `${url}/slo` }],
    requestSignatureAlgorithm: choice.get('algorithm') ?? samlify.Constants.algorithms.signature.RSA_SHA256,
    isAssertionEncrypted: choice.has('encrypt'),
    dataEncryptionAlgorithm: CIPHERS[choice.get('encrypt') ?? 'gcm'],
    keyEncryptionAlgorithm: 'http://www.w3.org/2001/04/xmlenc#rsa-oaep-mgf1p',
    loginResponseTemplate: {
      context: template,
      attributes: [
        { name: 'mail', valueTag: 'user.email', nameFormat: BASIC, valueXsiType: 'xs:string' },
        { name: 'groups', valueTag: 'user.group', nameFormat: BASIC, valueXsiType: 'xs:string' },
      ],
    },
  })
}

function serviceProvider(choice) {
  let metadata = ourMetadata
  if (choice.get('sign') === 'response')
    metadata = metadata.replace('WantAssertionsSigned="true"', 'WantAssertionsSigned="false"')
  if (choice.has('encrypt'))
    metadata = metadata.replace(/<md:KeyDescriptor use="signing">.*?<\/md:KeyDescriptor>/s,
      (signing) => signing + signing.replace('"signing"', '"encryption"'))
  return samlify.ServiceProvider({ metadata, wantMessageSigned: choice.get('sign') === 'both' })
}

function filled(idp, sp, choice, requestId) {
  const acs = sp.entityMeta.getAssertionConsumerService('post')
  const email = choice.get('email') ?? 'ann@example.org'
  const [now, end] = [new Date(), new Date(Date.now() + 300_000)].map((time) => time.toISOString())
  return (context) => ({
    context: samlify.SamlLib.replaceTagsByValue(context, {
      ID: '_' + randomBytes(16).toString('hex'),
      AssertionID: '_' + randomBytes(16).toString('hex'),
      SessionIndex: '_' + randomBytes(16).toString('hex'),
      Destination: acs,
      SubjectRecipient: acs,
      Audience: choice.get('audience') ?? sp.entityMeta.getEntityID(),
      Issuer: idp.entityMeta.getEntityID(),
      IssueInstant: now,
      ConditionsNotBefore: now,
      ConditionsNotOnOrAfter: end,
      SubjectConfirmationDataNotOnOrAfter: end,
      StatusCode: samlify.Constants.StatusCode.Success,
      NameIDFormat: EMAIL_FORMAT,
      NameID: choice.get('name_id') ?? email,
      InResponseTo: requestId,
      attrUserEmail: email,
      attrUserGroup: 'staff',
    }),
  })
}

const escaped = (text) => text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`)

async function form(idp, sp, choice, request, relayState) {
  const requestId = request?.extract.request.id
  // Encrypt first where the response is signed, so that the signature covers the ciphertext.
  const answer = await idp.createLoginResponse(
    sp, request ?? {}, 'post', { email: choice.get('email') }, filled(idp, sp, choice, requestId), choice.has('encrypt'))
  const relay = relayState === null ? '' : `<input type="hidden" name="RelayState" value="${escaped(relayState)}">`
  return `<!doctype html><form method="post" action="${escaped(sp.entityMeta.getAssertionConsumerService('post'))}">` +
    `<input type="hidden" name="SAMLResponse" value="${escaped(answer.context)}">${relay}</form>` +
    '<script>document.forms[0].submit()</script>'
}

/** What a Redirect signature covers: these parameters as they were sent, in this order. */
function signedPart(query) {
  const sent = new Map(query.split('&').map((part) => [part.slice(0, part.indexOf('=')), part]))
  return ['SAMLRequest', 'RelayState', 'SigAlg'].filter((name) => sent.has(name)).map((name) => sent.get(name)).join('&')
}

async function body(request) {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8')
}

async function answer(request, url) {
  const address = new URL(request.url, url)
  const choice = address.searchParams
  if (request.method === 'PUT' && address.pathname === '/sp') {
    ourMetadata = await body(request)
    return [200, 'text/plain', samlify.ServiceProvider({ metadata: ourMetadata }).entityMeta.getEntityID()]
  }
  const idp = identityProvider(url, choice)
  if (address.pathname === '/metadata') return [200, 'application/samlmetadata+xml', idp.getMetadata()]
  const sp = serviceProvider(choice)
  if (address.pathname === '/initiate')
    return [200, 'text/html', await form(idp, sp, choice, null, choice.get('RelayState'))]
  if (address.pathname !== '/sso') return [404, 'text/plain', 'not found']
  let checked
  try {
    const query = Object.fromEntries(choice)
    checked = await idp.parseLoginRequest(sp, 'redirect', { query, octetString: signedPart(address.search.slice(1)) })
  } catch (error) {
    return [403, 'text/plain', String(error)]
  }
  if (checked.extract.issuer !== sp.entityMeta.getEntityID()) return [403, 'text/plain', 'another issuer']
  return [200, 'text/html', await form(idp, sp, choice, checked, choice.get('RelayState'))]
}

const server = createServer(async (request, response) => {
  try {
    const [status, type, text] = await answer(request, `http://127.0.0.1:${server.address().port}`)
    response.writeHead(status, { 'content-type': type }).end(text)
  } catch (error) {
    response.writeHead(500, { 'content-type': 'text/plain' }).end(String(error.stack ?? error))
  }
})

server.listen(0, '127.0.0.1', () => {
  const url = `http://127.0.0.1:${server.address().port}`
  console.log(JSON.stringify({
    url, metadata_url: `${url}/metadata`, sso_url: `${url}/sso`, initiate_url: `${url}/initiate`, sp_url: `${url}/sp`,
  }))
})
