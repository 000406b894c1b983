import { randomBytes } from 'node:crypto'
import { must } from '../kernel/assert.ts'
import type { EpochMs } from '../kernel/clock.ts'
import type { SecretVault } from '../kernel/secret-vault.ts'
import type { WebhookOf } from '../store/events/webhook-types.ts'

const keyBytes = 32
const prefix = 'whsec_'

export function newSecret(): string {
  return prefix + randomBytes(keyBytes).toString('base64')
}

export function sealSecrets(
  vault: SecretVault,
  of: WebhookOf,
  secrets: { current: string; previous?: string },
): string {
  return vault.seal(secrets, of)
}

export function openSecrets(vault: SecretVault, of: WebhookOf, sealed: string): { current: string; previous?: string } {
  const { current, previous } = vault.open(sealed, of)
  return { current: must(current, 'a webhook has a secret'), ...(previous !== undefined && { previous }) }
}

type Kept = Parameters<typeof openSecrets>[1] & { sealed: string; previousUntil: EpochMs | null }

/** Caches the decrypted signing keys of up to a thousand webhooks. */
export class SigningKeys {
  readonly #vault: SecretVault
  readonly #kept = new Map<string, { current: Buffer; previous: Buffer | undefined }>()

  constructor(vault: SecretVault) {
    this.#vault = vault
  }

  /** Returns the currently valid keys, newest first. Throws SealedSecretsError. */
  of({ previousUntil, sealed, ...of }: Kept, now: EpochMs): Buffer[] {
    let known = this.#kept.get(sealed)
    if (!known) {
      const { current, previous } = openSecrets(this.#vault, of, sealed)
      known = { current: toKey(current), previous: previous === undefined ? undefined : toKey(previous) }
      if (this.#kept.size >= 1000) this.#kept.clear()
      this.#kept.set(sealed, known)
    }
    const { current, previous } = known
    return previous && previousUntil !== null && previousUntil > now ? [current, previous] : [current]
  }
}

function toKey(secret: string): Buffer {
  return Buffer.from(secret.slice(prefix.length), 'base64')
}
