import type { z } from 'zod'
import { assertAgents, type Catalogue } from '../agents/config/catalogue.ts'
import { unlimited, type AnyCaller, type Caller } from '../procedures/caller.ts'
import type { CreatedKey, Key, ListKeysOutput } from '../auth/keys/key-schema.ts'
import { createKey, listKeys, revokeKey } from '../auth/keys/manage-keys.ts'
import { getUser, noteChange, type UserParts } from './manage-users.ts'
import type { CreateUserKeyInput, ListUserKeysInput, UserKeyInput } from './user-schema.ts'

type KeyRequest<Input> = { caller: AnyCaller; input: Input }

/** Creates an API key with the `read` and `execute` scopes for the user. The key itself is returned only here. */
export async function createUserKey(
  parts: UserParts & { catalogue: Catalogue },
  { caller, input }: KeyRequest<z.output<typeof CreateUserKeyInput>>,
): Promise<z.output<typeof CreatedKey>> {
  const { userId, ...given } = input
  const { email } = await getUser(parts, { caller, userId })
  assertAgents(parts.catalogue, { agentIds: given.agents, path: 'agents', email })
  const scopes = ['read', 'execute'] as const
  const user: Caller = { ...unlimited, userId, email, isAdmin: false, scopes, credential: { kind: 'operator' } }
  const created = await createKey(parts, { caller: user, input: given })
  noteChange(parts, { caller, userId, keyId: created.id }, "created a user's API key")
  return created
}

export async function listUserKeys(
  parts: UserParts,
  { caller, input }: KeyRequest<z.output<typeof ListUserKeysInput>>,
): Promise<z.output<typeof ListKeysOutput>> {
  await getUser(parts, { caller, userId: input.userId })
  return await listKeys(parts, input)
}

export async function revokeUserKey(
  parts: UserParts,
  { caller, input }: KeyRequest<z.output<typeof UserKeyInput>>,
): Promise<Key> {
  const { keyId, userId } = input
  await getUser(parts, { caller, userId })
  const revoked = await revokeKey(parts, input)
  noteChange(parts, { caller, userId, keyId }, "revoked a user's API key")
  return revoked
}
