import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto'
import { assert } from './assert.ts'

/** `current` encrypts new data, and `previous` decrypts data that was encrypted before a rotation. */
export type Secrets = { current: string; previous: readonly string[] }

/**
 * Owner of encrypted secrets. The owner is authenticated along with the ciphertext, so one owner's secrets cannot be
 * decrypted as another's.
 */
export type SecretOwner =
  | ({ userId: string } & ({ connectorId: string; part?: string } | { webhookId: string }))
  | { mailId: string }

/** Returns the owner for a connector's tokens from this issuer. The tokens are sent only to that issuer. */
export function grantOwner(of: { userId: string; connectorId: string; issuer: string }): SecretOwner {
  const { connectorId, issuer, userId } = of
  return { userId, connectorId, part: `grant of ${issuer}` }
}

/** Thrown if secrets cannot be decrypted, because their key is missing or the stored value was changed. */
export class SealedSecretsError extends Error {
  override readonly name = 'SealedSecretsError'
}

const algorithm = 'aes-256-gcm'
const version = 'v1'
const ivBytes = 12
const tagBytes = 16
const options = { authTagLength: tagBytes }
const keyIdChars = 11
const connectorsPurpose = 'errand: secrets of connectors'

type Key = { id: string; key: Buffer }

/**
 * Encrypts users' secrets with AES-256-GCM and a key derived from the service's secret (HKDF-SHA256, RFC 5869). The
 * format is `v1.{key id}.{base64url of nonce, ciphertext and tag}`. With 96 random bits, a nonce is expected to repeat
 * only after billions of secrets under one key, far more than any installation stores.
 */
export class SecretVault {
  readonly #read: () => Secrets
  readonly #purpose: string
  #keys: { current: Key; all: Map<string, Key> } | undefined

  /**
   * Creates a vault that calls `read` for each encryption, and for each decryption with an unknown key id. Each purpose
   * has separate keys, so that values encrypted for unauthenticated clients reveal nothing about users' secrets.
   */
  constructor(read: () => Secrets, purpose = connectorsPurpose) {
    this.#read = read
    this.#purpose = purpose
  }

  seal(secrets: Readonly<Record<string, string>>, owner: SecretOwner): string {
    const { id, key } = this.#load().current
    const iv = randomBytes(ivBytes)
    const cipher = createCipheriv(algorithm, key, iv, options).setAAD(describe(owner))
    const body = Buffer.concat([
      iv,
      cipher.update(JSON.stringify(secrets), 'utf8'),
      cipher.final(),
      cipher.getAuthTag(),
    ])
    return `${version}.${id}.${body.toString('base64url')}`
  }

  open(sealed: string, owner: SecretOwner): Record<string, string> {
    const [form, id = '', body = ''] = sealed.split('.')
    const key = form === version ? this.#find(id) : undefined
    if (!key)
      throw new SealedSecretsError(
        'The stored secrets were encrypted with a key that the service no longer has. Enter them again.',
      )
    const bytes = Buffer.from(body, 'base64url')
    try {
      const decipher = createDecipheriv(algorithm, key.key, bytes.subarray(0, ivBytes), options).setAAD(describe(owner))
      decipher.setAuthTag(bytes.subarray(-tagBytes))
      const text = Buffer.concat([decipher.update(bytes.subarray(ivBytes, -tagBytes)), decipher.final()])
      return JSON.parse(text.toString('utf8')) as Record<string, string>
    } catch (error) {
      throw new SealedSecretsError('The stored secrets are corrupted. Enter them again.', { cause: error })
    }
  }

  isCurrent(sealed: string): boolean {
    return sealed.split('.')[1] === this.#load().current.id
  }

  #find(id: string): Key | undefined {
    return this.#keys?.all.get(id) ?? this.#load().all.get(id)
  }

  #load(): { current: Key; all: Map<string, Key> } {
    const { current, previous } = this.#read()
    const keys = [current, ...previous].map((secret) => deriveKey(secret, this.#purpose))
    this.#keys = { current: keys[0]!, all: new Map(keys.map((key) => [key.id, key])) }
    return this.#keys
  }
}

function deriveKey(secret: string, purpose: string): Key {
  assert(secret.length >= 16, 'a secret has at least 16 characters')
  const key = Buffer.from(hkdfSync('sha256', secret, '', purpose, 32))
  const id = createHash('sha256').update(key).digest('base64url').slice(0, keyIdChars)
  return { id, key }
}

function describe(owner: SecretOwner): Buffer {
  if ('mailId' in owner) return Buffer.from(owner.mailId)
  const of = 'webhookId' in owner ? owner.webhookId : owner.connectorId
  const part = 'part' in owner ? `/${owner.part}` : ''
  return Buffer.from(`${owner.userId}/${of}${part}`)
}
