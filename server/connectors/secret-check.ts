import { createHmac } from 'node:crypto'
import { StoreOpenError } from '../store/store-open-error.ts'
import type { SharedSettings } from '../store/shared.ts'
import type { Secrets } from './secret-vault.ts'

/** Under which the check value is kept. */
export const secretSetting = 'secret'

/** Tells whether two have the same secret, and nothing of what it is. */
export function secretCheck(secret: string): string {
  return createHmac('sha256', secret).update('errand: the secret of all nodes').digest('base64url')
}

/**
 * Servers with another secret than the one before would refuse its links and could not read its encrypted rows. The first
 * to come settles which secret is the right one; one that knows it as its previous secret is in the middle of a change.
 * `ownDir` is the data directory of a database that is not shared: there a restore may have left the secret behind.
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
      ? 'ERRAND_SECRET: must be the secret that the other nodes of this database have.'
      : `The secret is not the one that this database was used with, under which connectors' secrets are encrypted: put the file "secret" that belongs to it into ${ownDir}, or set ERRAND_SECRET as it was. If it is lost, \`errand secret rotate --lost\` goes on without it.`,
  )
}

/** From now on the current secret is the right one: nothing is under the one before. */
export async function settleSecret(settings: SharedSettings, { current }: Secrets): Promise<void> {
  await settings.replace(secretSetting, secretCheck(current))
}
