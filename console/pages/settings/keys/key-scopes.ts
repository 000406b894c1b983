import type { Key } from '../../../../client/client.ts'

export type KeyScope = Key['scopes'][number]

export const scopeTexts: readonly { scope: KeyScope; label: string; text: string }[] = [
  { scope: 'read', label: 'Read', text: 'See agents, tasks, chats, connectors, the balance and transactions.' },
  { scope: 'execute', label: 'Execute', text: 'Run tasks and chats, which costs money, and test connectors.' },
  {
    scope: 'manage',
    label: 'Manage',
    text: 'Create and revoke API keys, manage connectors and webhooks, and end browser logins.',
  },
]

/** Common choices for a new key. An empty `days` means that the key never expires. */
export const keyPresets: readonly { label: string; scopes: KeyScope[]; days: string }[] = [
  { label: 'Read only, 90 days', scopes: ['read'], days: '90' },
  { label: 'Read and execute, 90 days', scopes: ['read', 'execute'], days: '90' },
  { label: 'All scopes, no expiry', scopes: scopeTexts.map(({ scope }) => scope), days: '' },
]

/** Only client tokens can have the `pay` scope. */
export function describeScopes(scopes: readonly (KeyScope | 'pay')[]): string {
  if (scopeTexts.every(({ scope }) => scopes.includes(scope))) return 'All'
  const labels = scopeTexts.flatMap(({ scope, label }) => (scopes.includes(scope) ? [label] : []))
  return (scopes.includes('pay') ? [...labels, 'Pay'] : labels).join(', ')
}
