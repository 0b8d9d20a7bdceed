// Keys to sign with, as JWK.

import { createPrivateKey, generateKeyPairSync, randomUUID } from 'node:crypto'

const KEY_TYPES = {
  RS256: ['rsa', { modulusLength: 2048 }],
  PS256: ['rsa', { modulusLength: 2048 }],
  ES256: ['ec', { namedCurve: 'P-256' }],
  EdDSA: ['ed25519', {}],
}
export const ALGORITHMS = Object.keys(KEY_TYPES)

// As text first: Node hangs for ever when the job that made a key is collected as garbage while that key is exported.
const AS_TEXT = {
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
}

export function makeKey(alg, kid = randomUUID()) {
  const [type, options] = KEY_TYPES[alg]
  const { privateKey } = generateKeyPairSync(type, { ...options, ...AS_TEXT })
  return { ...createPrivateKey(privateKey).export({ format: 'jwk' }), alg, use: 'sig', kid }
}
