import { CreateKeyInput, ListKeysInput, RotateKeyInput } from '../../auth/keys/key-schema.ts'
import { createKey, listKeys, revokeKey, rotateKey } from '../../auth/keys/manage-keys.ts'
import { parseInput, type Common } from '../command-options.ts'
import { print } from '../open-store.ts'
import { findUserId, operator, withParts } from './operator.ts'
import { printPage } from './user-lists.ts'

type OfUser = Common & { user: string }

export async function createUserKey(options: OfUser): Promise<void> {
  const input = parseInput(CreateKeyInput, options)
  const created = await withParts(options, async (parts) => {
    const userId = await findUserId(parts, options)
    return await createKey(parts, { caller: { ...operator, userId }, input })
  })
  print(options, created, `${created.key}\nThe key ${created.id} is shown only once.`)
}

export async function listUserKeys(options: OfUser): Promise<void> {
  const input = parseInput(ListKeysInput, options)
  const page = await withParts(options, async (parts) =>
    listKeys(parts, { ...input, userId: await findUserId(parts, options) }),
  )
  const lines = page.keys.map((key) => {
    return `${key.id}  …${key.hint}  ${key.scopes.join(',')}  ${stateOf(key)}  ${key.name}`
  })
  printPage(options, page, lines)
}

export async function rotateUserKey(options: OfUser & { keyId: string }): Promise<void> {
  const input = parseInput(RotateKeyInput, options)
  const created = await withParts(options, async (parts) => {
    const userId = await findUserId(parts, options)
    return await rotateKey(parts, { caller: { ...operator, userId }, input })
  })
  const said = `The key ${created.id} is shown only once. ${input.keyId} is valid for ${input.overlapSeconds} more seconds.`
  print(options, created, `${created.key}\n${said}`)
}

export async function revokeUserKey(options: OfUser & { keyId: string }): Promise<void> {
  const { keyId } = options
  const key = await withParts(options, async (parts) =>
    revokeKey(parts, { keyId, userId: await findUserId(parts, options) }),
  )
  print(options, key, `${key.id} is revoked.`)
}

export function stateOf({ expiresAt, revokedAt }: { expiresAt: string | null; revokedAt: string | null }): string {
  if (revokedAt !== null) return 'revoked'
  return expiresAt === null ? 'active' : `expires ${expiresAt}`
}
