import type { Damage } from './damage-holdings.ts'

const missing = 'each spend window of a task or turn exists'

export const limitDamages: Damage[] = [
  {
    title: 'a window with a lower charge than its tasks and turns cost',
    named: 'the amount charged in each spend window equals the cost of its tasks and turns',
    by: ({ keyId }) => [`UPDATE spend_windows SET charged = charged - 1 WHERE owner_id = '${keyId}'`],
  },
  {
    title: 'a task that counts in no window',
    named: 'the amount charged in each spend window equals the cost of its tasks and turns',
    by: ({ completedId }) => [`UPDATE tasks SET counted_in = NULL WHERE id = '${completedId}'`],
  },
  {
    title: 'a window with a hold that no open turn has',
    named: 'the amount held in each spend window equals the holds of its open turns',
    by: ({ keyId }) => [`UPDATE spend_windows SET held = held + 1 WHERE owner_id = '${keyId}'`],
  },
  {
    title: 'a window above its limit',
    named: 'the amount charged and held in each spend window is within its limit',
    by: ({ keyId }) => [`UPDATE spend_windows SET spend_limit = charged WHERE owner_id = '${keyId}'`],
  },
  {
    title: 'a window with a negative carried amount',
    named: 'the amount carried over to each spend window was spent in its period by executions of other windows',
    by: ({ keyId }) => [`UPDATE spend_windows SET carried = -1 WHERE owner_id = '${keyId}'`],
  },
  {
    title: 'a client token above its cap',
    named: 'no client token has exceeded its cap',
    by: ({ keyId, userId }) => [
      `INSERT INTO client_tokens (id, user_id, token_hash, scopes, max_cost, is_once, created_by, created_at, expires_at)
        VALUES ('${keyId}', '${userId}', '${keyId}', 'execute', 1, 0, 'key_a', 1, 2)`,
    ],
  },
  {
    title: 'a missing window of a key, which resets its limit',
    named: missing,
    by: ({ keyId }) => [`DELETE FROM spend_windows WHERE owner_id = '${keyId}'`],
  },
  {
    title: 'a missing window of a client token',
    named: missing,
    by: ({ tokenId }) => [`DELETE FROM spend_windows WHERE owner_id = '${tokenId}'`],
  },
  {
    title: 'a missing window of a user, which resets the daily limit',
    named: missing,
    by: ({ userId }) => [`DELETE FROM spend_windows WHERE owner_id = '${userId}'`],
  },
  {
    title: 'a window with a wrong period',
    named: missing,
    by: ({ userId }) => [`UPDATE spend_windows SET starts_at = starts_at + 86400000 WHERE owner_id = '${userId}'`],
  },
  {
    title: 'a window in the account of another user',
    named: missing,
    by: ({ tokenId }) => [`UPDATE spend_windows SET user_id = 'user_other' WHERE owner_id = '${tokenId}'`],
  },
  {
    title: 'a key that belongs to another user',
    named: 'each spend window belongs to the account of its key, client token or user',
    by: ({ keyId }) => [`UPDATE api_keys SET user_id = 'user_other' WHERE id = '${keyId}'`],
  },
  {
    title: 'a key limit below that of its window',
    named: 'the limit of each spend window is that of its key, unless the key was changed since',
    by: ({ keyId }) => [`UPDATE api_keys SET spend_limit = 10 WHERE id = '${keyId}'`],
  },
  {
    title: 'a key limit above that of its window',
    named: 'the limit of each spend window is that of its key, unless the key was changed since',
    by: ({ keyId }) => [`UPDATE api_keys SET spend_limit = spend_limit + 1 WHERE id = '${keyId}'`],
  },
  {
    title: 'a window limit that differs from that of its key',
    named: 'the limit of each spend window is that of its key, unless the key was changed since',
    by: ({ keyId }) => [`UPDATE spend_windows SET spend_limit = spend_limit + 1 WHERE owner_id = '${keyId}'`],
  },
  {
    title: 'a raised cap of a client token',
    named: "the limit of each client token's spend window is the token's cap",
    by: ({ tokenId }) => [`UPDATE client_tokens SET max_cost = max_cost + 1 WHERE id = '${tokenId}'`],
  },
  {
    title: 'a raised daily limit of a user',
    named: "the limit of each user's spend window is at least the user's daily limit",
    by: ({ userId }) => [`UPDATE accounts SET limits = '{"spendPerDay":2000000}' WHERE user_id = '${userId}'`],
  },
  {
    title: 'a rotated key that no longer counts as its predecessor',
    named: 'each rotated key counts as the key that it replaced',
    by: ({ newKeyId }) => [`UPDATE api_keys SET counts_as = NULL WHERE id = '${newKeyId}'`],
  },
  {
    title: 'a single-use client token that can be used again',
    named: 'each client token for one execution is marked as used if it has spent',
    by: ({ onceTokenId }) => [`UPDATE client_tokens SET used_at = NULL WHERE id = '${onceTokenId}'`],
  },
  {
    title: 'a platform key that records less than it has credited',
    named: 'the amount that a platform key credited on its last day equals the sum of its credits',
    by: ({ platformKeyId }) => [`UPDATE platform_keys SET credited = credited - 1 WHERE id = '${platformKeyId}'`],
    isOfNobody: true,
  },
  {
    title: 'a platform key that records more than it has taken back',
    named: 'the amount that a platform key took back on its last day equals the sum of its adjustments',
    by: ({ platformKeyId }) => [`UPDATE platform_keys SET taken = taken + 1 WHERE id = '${platformKeyId}'`],
    isOfNobody: true,
  },
  {
    title: 'a credit that no longer counts for its platform key',
    named: 'the amount that a platform key credited on its last day equals the sum of its credits',
    by: ({ userId }) => [
      `UPDATE transactions SET counted_in = NULL WHERE user_id = '${userId}' AND counted_in IS NOT NULL`,
    ],
    isOfNobody: true,
  },
  {
    title: 'a platform key whose day is before its credits',
    named: 'each credit counted for a platform key belongs to an existing key and one of its days',
    by: ({ platformKeyId }) => [
      `UPDATE platform_keys SET credit_day = credit_day - 1, credited = 0 WHERE id = '${platformKeyId}'`,
    ],
  },
  {
    title: 'a missing platform key',
    named: 'each credit counted for a platform key belongs to an existing key and one of its days',
    by: ({ platformKeyId }) => [`DELETE FROM platform_keys WHERE id = '${platformKeyId}'`],
  },
]
