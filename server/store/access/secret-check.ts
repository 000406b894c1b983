import { createHmac } from 'node:crypto'
import { StoreOpenError } from '../store-open-error.ts'
import type { SharedSettings } from '../shared.ts'
import type { Secrets } from '../../kernel/secret-vault.ts'

/** Settings key of the check value. */
export const secretSetting = 'secret'

/** Returns a check value: equal for equal secrets, and revealing nothing else about them. */
export function secretCheck(secret: string): string {
  return createHmac('sha256', secret).update('errand: the secret of all nodes').digest('base64url')
}

/**
 * Throws if this server's secret is not the installation's valid secret. With another secret, the server would reject
 * the other servers' links and could not read their encrypted rows. The first server to start determines the valid
 * secret. If the valid secret is one of this server's previous secrets, a rotation is in progress. `ownDir` is the data
 * directory of an unshared database; a database restored there may lack its secret file.
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
      ? 'ERRAND_SECRET: must be the same secret as on the other nodes of this database.'
      : `The secret does not match this database, whose connector secrets are encrypted with another one. Restore the original file "secret" to ${ownDir}, or set ERRAND_SECRET to its previous value. If the secret is lost, run \`errand secret rotate --lost\` to continue without it.`,
  )
}

/** Makes the current secret the valid one. Call this only once nothing is encrypted with a previous secret. */
export async function settleSecret(settings: SharedSettings, { current }: Secrets): Promise<void> {
  await settings.replace(secretSetting, secretCheck(current))
}
