import { createPlatformKey, listPlatformKeys, revokePlatformKey } from '../../auth/platform/manage-platform-keys.ts'
import { CreatePlatformKeyInput, ListPlatformKeysInput } from '../../auth/platform/platform-key-schema.ts'
import { parseInput, type Common } from '../command-options.ts'
import { print } from '../open-store.ts'
import { stateOf } from './key-commands.ts'
import { withParts } from './operator.ts'
import { printPage } from './user-lists.ts'

export async function createOwnKey(options: Common): Promise<void> {
  const input = parseInput(CreatePlatformKeyInput, options)
  const created = await withParts(options, (parts) => createPlatformKey(parts, { adminId: null, input }))
  print(options, created, `${created.key}\nThe key ${created.id} is shown only once.`)
}

export async function listOwnKeys(options: Common): Promise<void> {
  const input = parseInput(ListPlatformKeysInput, options)
  const page = await withParts(options, (parts) => listPlatformKeys(parts, input))
  const lines = page.keys.map((key) => {
    const from = key.addresses ? `from ${key.addresses.join(',')}` : 'from anywhere'
    const credited = key.creditPerDayUsd === null ? '' : `  ${key.creditedTodayUsd} of ${key.creditPerDayUsd} USD today`
    return `${key.id}  …${key.hint}  ${key.scopes.join(',')}  ${from}${credited}  ${stateOf(key)}  ${key.name}`
  })
  printPage(options, page, lines)
}

export async function revokeOwnKey(options: Common & { keyId: string }): Promise<void> {
  const { keyId } = options
  const key = await withParts(options, (parts) => revokePlatformKey(parts, { adminId: null, keyId }))
  print(options, key, `${key.id} is revoked.`)
}
