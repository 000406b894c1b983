import type { PlatformKey } from '../../../../client/client.ts'

export type PlatformScope = PlatformKey['scopes'][number]

export const platformScopeTexts: readonly { scope: PlatformScope; label: string; text: string }[] = [
  { scope: 'users', label: 'Users', text: 'Make, read and suspend users who are no admins, and end their keys.' },
  { scope: 'credit', label: 'Credit', text: 'Add to their balances, or take from them.' },
  { scope: 'limits', label: 'Limits', text: 'Set their plans and limits.' },
  {
    scope: 'act',
    label: 'Act',
    text: 'Read, run tasks and chat in their name, and make keys and client tokens for them.',
  },
]

export function describePlatformScopes(scopes: readonly PlatformScope[]): string {
  return platformScopeTexts.flatMap(({ scope, label }) => (scopes.includes(scope) ? [label] : [])).join(', ')
}
