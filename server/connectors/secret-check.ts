import { createHmac } from 'node:crypto'
import { StoreOpenError } from '../store/store-open-error.ts'
import type { SharedSettings } from '../store/shared.ts'
import type { Secrets } from './secret-vault.ts'

const setting = 'secret'

/** Tells whether two have the same secret, and nothing of what it is. */
export function secretCheck(secret: string): string {
  return createHmac('sha256', secret).update('errand: the secret of all nodes').digest('base64url')
}

/**
 * Nodes with different secrets would refuse each other's links and could not read each other's encrypted rows. The first
 * to come settles which secret is the right one; one that knows it as its previous secret is in the middle of a change.
 */
export async function assertSameSecret(settings: SharedSettings, { current, previous }: Secrets): Promise<void> {
  const agreed = await settings.agree(setting, secretCheck(current))
  if ([current, ...previous].some((secret) => secretCheck(secret) === agreed)) return
  throw new StoreOpenError('ERRAND_SECRET: must be the secret that the other nodes of this database have.')
}

/** From now on the current secret is the right one: nothing is under the one before. */
export async function settleSecret(settings: SharedSettings, { current }: Secrets): Promise<void> {
  await settings.replace(setting, secretCheck(current))
}
