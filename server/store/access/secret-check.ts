import { createHmac } from 'node:crypto'
import { StoreOpenError } from '../store-open-error.ts'
import type { SharedSettings } from '../shared.ts'
import type { Secrets } from '../../kernel/secret-vault.ts'

export const secretSetting = 'secret'

/** Returns a fingerprint that does not reveal the secret. */
export function secretCheck(secret: string): string {
  return createHmac('sha256', secret).update('errand: the secret of all nodes').digest('base64url')
}

/**
 * Throws if this server's secret is not the installation's. Otherwise the server would reject other servers' links and
 * could not decrypt their rows. The first server to start sets the installation's secret. During a rotation, the
 * installation's secret may be one of this server's previous secrets. `ownDir` is the data directory if the database is
 * not shared. Its secret file may be missing after a restore.
 */
export async function assertSameSecret(
  settings: SharedSettings,
  { current, previous }: Secrets,
  ownDir: string | null,
): Promise<void> {
  const agreed = await settings.agree(secretSetting, secretCheck(current))
  if ([current, ...previous].some((secret) => secretCheck(secret) === agreed)) return
  throw new StoreOpenError(
    ownDir === null
      ? 'ERRAND_SECRET: must have the same value as on the other nodes of this database.'
      : `The secret does not match this database, whose connector secrets are encrypted with another one. Restore the original file "secret" to ${ownDir}, or set ERRAND_SECRET to its previous value. If the secret is lost, run \`errand secret rotate --lost\` to continue without it.`,
  )
}

/**
 * Records the current secret as the installation's secret. Call this only when no row is encrypted with a previous
 * secret.
 */
export async function settleSecret(settings: SharedSettings, { current }: Secrets): Promise<void> {
  await settings.replace(secretSetting, secretCheck(current))
}
