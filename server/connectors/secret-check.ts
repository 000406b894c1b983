import { createHmac } from 'node:crypto'
import { StoreOpenError } from '../store/store-open-error.ts'
import type { SharedSettings } from '../store/shared.ts'
import type { Secrets } from './secret-vault.ts'

/** Settings key of the check value. */
export const secretSetting = 'secret'

/** Check value that shows whether two secrets are equal, and nothing else about them. */
export function secretCheck(secret: string): string {
  return createHmac('sha256', secret).update('errand: the secret of all nodes').digest('base64url')
}

/**
 * Servers with another secret would reject the links of earlier ones and could not read their encrypted rows. The first
 * server settles which secret is right. A server that knows it as a previous secret is in the middle of a change.
 * `ownDir` is the data directory of a database that is not shared, where a restore may have left the secret behind.
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

/** Makes the current secret the right one; nothing is encrypted under the previous one. */
export async function settleSecret(settings: SharedSettings, { current }: Secrets): Promise<void> {
  await settings.replace(secretSetting, secretCheck(current))
}
