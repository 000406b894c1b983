import type { PlatformKey } from '../../../../client/client.ts'

export type PlatformScope = PlatformKey['scopes'][number]

export const platformScopeTexts: readonly { scope: PlatformScope; label: string; text: string }[] = [
  { scope: 'users', label: 'Users', text: 'Create, read and suspend non-admin users, and revoke their API keys.' },
  { scope: 'credit', label: 'Credit', text: 'Add and deduct credit for non-admin users.' },
  { scope: 'limits', label: 'Limits', text: 'Set the plans of non-admin users, and limits up to those of the plan.' },
  {
    scope: 'act',
    label: 'Act',
    text: 'Read data, run tasks and chat on behalf of non-admin users, and create API keys and client tokens for them.',
  },
  {
    scope: 'pay',
    label: 'Pay',
    text: 'Start top-ups and change auto-recharge on behalf of non-admin users. Requires the Act scope.',
  },
  {
    scope: 'connectors',
    label: 'Connectors',
    text: 'Connect MCP servers on behalf of non-admin users. Requires the Act scope.',
  },
  { scope: 'webhooks', label: 'Webhooks', text: 'Manage webhooks that receive the events of all non-admin users.' },
  { scope: 'economics', label: 'Economics', text: 'Read revenue, provider cost and margin of the service.' },
]

export function describePlatformScopes(scopes: readonly PlatformScope[]): string {
  return platformScopeTexts.flatMap(({ scope, label }) => (scopes.includes(scope) ? [label] : [])).join(', ')
}

export function platformKeyState(
  { expiresAt, revokedAt }: Pick<PlatformKey, 'expiresAt' | 'revokedAt'>,
  now: number,
): 'active' | 'expired' | 'revoked' {
  if (revokedAt !== null) return 'revoked'
  return expiresAt !== null && Date.parse(expiresAt) <= now ? 'expired' : 'active'
}
