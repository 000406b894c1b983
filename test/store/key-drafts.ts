import type { CreateKey } from '../../server/store/store.ts'

let hashes = 0

/** Input for a new key, with a different token each time. */
export function draftKey(userId: string, changes: Partial<CreateKey> = {}): CreateKey {
  const tokenHash = `key${++hashes}`.padStart(64, '0')
  return { userId, name: 'laptop', hint: 'a1b2', scopes: ['read', 'execute'], expiresAt: null, tokenHash, ...changes }
}
