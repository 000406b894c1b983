import type { CreateKey } from '../../server/store/store.ts'

let hashes = 0

/** A key that the store is given; each has another token. */
export function draftKey(userId: string, changes: Partial<CreateKey> = {}): CreateKey {
  const tokenHash = `key${++hashes}`.padStart(64, '0')
  return { userId, name: 'laptop', hint: 'a1b2', scopes: ['read', 'execute'], expiresAt: null, tokenHash, ...changes }
}
