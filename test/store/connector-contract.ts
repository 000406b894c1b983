import type { ConnectorRecord } from '../../server/store/connectors/connector-types.ts'
import { expect } from 'vitest'
import { newId } from '../../server/kernel/ids.ts'
import { connectorsMax } from '../../server/store/limits/account-bounds.ts'
import type { CreateConnector, UpdateConnector } from '../../server/store/store.ts'
import type { ContractTest } from './store-contract.ts'
import type { StoreWorld } from './store-world.ts'

const all = { limit: 1000, offset: 0 }
let connectors = 0

export function draftConnector(
  world: StoreWorld,
  userId: string,
  changes: Partial<CreateConnector> = {},
): CreateConnector {
  return {
    connectorId: newId('con', world.clock.now()),
    userId,
    name: `connector ${++connectors}`,
    url: 'https://mcp.example.com/mcp',
    server: null,
    authType: 'bearer',
    sealed: 'v1.key.secrets',
    allowedTools: null,
    ...changes,
  }
}

export async function created(
  world: StoreWorld,
  userId: string,
  changes: Partial<CreateConnector> = {},
): Promise<ConnectorRecord> {
  const result = await world.store.createConnector(draftConnector(world, userId, changes))
  if (result.outcome === 'refused') throw new Error(`not created: ${result.reason}`)
  return result.connector
}

const of = ({ id: connectorId, userId }: ConnectorRecord) => ({ connectorId, userId })

function read(world: StoreWorld, connector: ConnectorRecord): Promise<ConnectorRecord | undefined> {
  return world.store.getConnector(of(connector))
}

function update(world: StoreWorld, connector: ConnectorRecord, changes: UpdateConnector['changes']) {
  return world.store.updateConnector({ ...of(connector), changes })
}

/** Records the result of a check of the connector, in the version that the caller has read. */
async function checked(
  world: StoreWorld,
  connector: ConnectorRecord,
  statusMessage: string | null = null,
): Promise<ConnectorRecord> {
  const status = statusMessage === null ? 'ok' : 'failed'
  const { updatedAt } = connector
  await world.store.noteConnectorCheck({ ...of(connector), updatedAt, status, statusMessage })
  return (await read(world, connector))!
}

export function describeConnectors(contractTest: ContractTest): void {
  describeLives(contractTest)
  describeNames(contractTest)
  describeLists(contractTest)
  describeChecks(contractTest)
  describeSealing(contractTest)
}

function describeLives(contractTest: ContractTest): void {
  contractTest('returns a connector unchanged, before and after a restart', async (world) => {
    const userId = await world.createUser()
    const now = world.clock.now()
    const draft = draftConnector(world, userId, { name: ' Ünï ☃ ', allowedTools: ['a', 'b c', ''] })
    const { connectorId, ...rest } = draft
    const expected = {
      ...rest,
      id: connectorId,
      status: 'untested',
      statusMessage: null,
      checkedAt: null,
      createdAt: now,
      updatedAt: now,
    }
    expect(await world.store.createConnector(draft)).toEqual({ outcome: 'created', connector: expected })
    const local = { url: null, server: 'files', authType: 'none' as const, sealed: null, allowedTools: [] }
    const other = await created(world, userId, local)
    expect(other).toMatchObject(local)
    const failed = await checked(world, other, 'It is gone.')
    await world.reopen()
    expect(await world.store.getConnector({ userId, connectorId })).toEqual(expected)
    expect(await world.store.listConnectors({ userId, ...all })).toEqual({ connectors: [failed, expected], total: 2 })
  })

  contractTest('a connector is invisible to other users, who cannot change it', async (world) => {
    const [userId, otherId] = [await world.createUser(), await world.createUser()]
    const connector = await created(world, userId)
    const theirs = { ...connector, userId: otherId }
    expect(await read(world, theirs)).toBeUndefined()
    expect(await update(world, theirs, { name: 'taken' })).toEqual({ outcome: 'refused', reason: 'unknown' })
    expect(await world.store.deleteConnector(of(theirs))).toBe(false)
    expect(await checked(world, theirs)).toBeUndefined()
    expect(await world.store.listConnectors({ userId: otherId, ...all })).toEqual({ connectors: [], total: 0 })
    expect(await read(world, connector)).toEqual(connector)
  })

  contractTest('a connector can be deleted once and is then unusable', async (world) => {
    const userId = await world.createUser()
    const [connector, kept] = [await created(world, userId), await created(world, userId)]
    expect(await world.store.deleteConnector(of(connector))).toBe(true)
    expect(await world.store.deleteConnector(of(connector))).toBe(false)
    expect(await read(world, connector)).toBeUndefined()
    expect(await update(world, connector, { name: 'back' })).toEqual({ outcome: 'refused', reason: 'unknown' })
    expect(await checked(world, connector)).toBeUndefined()
    const { id: connectorId } = connector
    expect(await world.store.resealConnector({ connectorId, from: 'v1.key.secrets', to: 'v1.new.x' })).toBe(false)
    await world.reopen()
    expect(await world.store.listConnectors({ userId, ...all })).toEqual({ connectors: [kept], total: 1 })
  })

  contractTest('an update changes only the given fields and the update time', async (world) => {
    const userId = await world.createUser()
    const connector = await created(world, userId)
    const changes: UpdateConnector['changes'][] = [
      { name: 'renamed' },
      { allowedTools: ['look'] },
      { allowedTools: null },
      { url: 'https://mcp.example.com/other' },
      { authType: 'none', sealed: null },
      { authType: 'headers', sealed: 'v1.key.other', name: 'all', url: 'https://example.org/', allowedTools: [] },
    ]
    let expected = connector
    for (const change of changes) {
      world.clock.advance(1000)
      expected = Object.assign({}, expected, change, { updatedAt: world.clock.now() })
      expect(await update(world, connector, change)).toEqual({ outcome: 'updated', connector: expected })
      expect(await read(world, connector)).toEqual(expected)
    }
  })

  contractTest('rejects an update based on an outdated version of the connector', async (world) => {
    const userId = await world.createUser()
    const connector = await created(world, userId)
    const of = { userId, connectorId: connector.id }
    const first = { ...of, changes: { name: 'first' }, ifUpdatedAt: connector.updatedAt }
    expect(await world.store.updateConnector(first)).toMatchObject({ outcome: 'updated' })
    const second = { ...of, changes: { name: 'second' }, ifUpdatedAt: connector.updatedAt }
    expect(await world.store.updateConnector(second)).toEqual({ outcome: 'refused', reason: 'changed' })
    expect(await world.store.getConnector(of)).toMatchObject({ name: 'first' })
  })
}

function describeNames(contractTest: ContractTest): void {
  contractTest('connector names are case-sensitive and unique per user', async (world) => {
    const [userId, otherId] = [await world.createUser(), await world.createUser()]
    const connector = await created(world, userId, { name: 'Docs' })
    const taken = { outcome: 'refused', reason: 'name-taken' }
    expect(await world.store.createConnector(draftConnector(world, userId, { name: 'Docs' }))).toEqual(taken)
    await created(world, otherId, { name: 'Docs' })
    const lower = await created(world, userId, { name: 'docs' })
    expect(await update(world, lower, { name: 'Docs', url: 'https://example.org/' })).toEqual(taken)
    expect(await read(world, lower)).toEqual(lower)
    expect(await update(world, lower, { name: 'DOCS' })).toMatchObject({ outcome: 'updated' })
    expect(await update(world, lower, { name: 'DOCS' })).toMatchObject({ outcome: 'updated' })
    await world.store.deleteConnector(of(connector))
    expect(await update(world, lower, { name: 'Docs' })).toMatchObject({ outcome: 'updated' })
  })

  contractTest('only one of several parallel creations with the same name succeeds', async (world) => {
    const userId = await world.createUser()
    const drafts = Array.from({ length: 8 }, () => draftConnector(world, userId, { name: 'same' }))
    const results = await Promise.all(drafts.map((draft) => world.store.createConnector(draft)))
    expect(results.filter(({ outcome }) => outcome === 'created')).toHaveLength(1)
    expect((await world.store.listConnectors({ userId, ...all })).total).toBe(1)
  })

  contractTest('limits each user to 100 connectors, even with parallel creations', async (world) => {
    expect(connectorsMax).toBe(100)
    const [userId, otherId] = [await world.createUser(), await world.createUser()]
    const drafts = Array.from({ length: 105 }, () => draftConnector(world, userId))
    const results = await Promise.all(drafts.map((draft) => world.store.createConnector(draft)))
    expect(results.filter(({ outcome }) => outcome === 'created')).toHaveLength(100)
    const refused = { outcome: 'refused', reason: 'too-many' }
    expect(results.filter(({ outcome }) => outcome === 'refused')).toEqual(Array.from({ length: 5 }, () => refused))
    await created(world, otherId)
    const { connectors: own, total } = await world.store.listConnectors({ userId, ...all })
    expect([own.length, total]).toEqual([100, 100])
    await world.store.deleteConnector(of(own[50]!))
    await created(world, userId)
    expect(await world.store.createConnector(draftConnector(world, userId))).toEqual(refused)
  })
}

function describeLists(contractTest: ContractTest): void {
  contractTest('lists connectors newest first, with the same total on every page', async (world) => {
    const [userId, otherId] = [await world.createUser(), await world.createUser()]
    const ids: string[] = []
    for (let n = 0; n < 7; n++) {
      // Up to three of the connectors are created in the same millisecond.
      if (n % 3 === 0) world.clock.advance(1)
      ids.unshift((await created(world, userId)).id)
      await created(world, otherId)
    }
    const pages = []
    for (let offset = 0; offset < 9; offset += 3) {
      const page = await world.store.listConnectors({ userId, limit: 3, offset })
      expect(page.total).toBe(7)
      pages.push(page.connectors.map(({ id }) => id))
    }
    expect(pages).toEqual([ids.slice(0, 3), ids.slice(3, 6), ids.slice(6)])
    expect(await world.store.listConnectors({ userId, limit: 3, offset: 7 })).toEqual({ connectors: [], total: 7 })
  })
}

function describeChecks(contractTest: ContractTest): void {
  contractTest('a check stores its result and time and changes nothing else', async (world) => {
    const connector = await created(world, await world.createUser())
    world.clock.advance(1000)
    const failed = await checked(world, connector, 'It is gone.')
    const checkedAt = world.clock.now()
    expect(failed).toEqual({ ...connector, status: 'failed', statusMessage: 'It is gone.', checkedAt })
    world.clock.advance(1000)
    const ok = { ...connector, status: 'ok', statusMessage: null, checkedAt: world.clock.now() }
    expect(await checked(world, failed)).toEqual(ok)
  })

  contractTest('a new URL or new secrets make a connector untested, other changes do not', async (world) => {
    const connector = await checked(world, await created(world, await world.createUser()), 'It is gone.')
    const same = { name: 'other', allowedTools: ['a'], url: connector.url, sealed: connector.sealed }
    const renamed = await update(world, connector, same)
    const { checkedAt, status, statusMessage } = connector
    expect(renamed).toMatchObject({ outcome: 'updated', connector: { checkedAt, status, statusMessage } })
    const untested = { status: 'untested', statusMessage: null, checkedAt: null }
    const changes: UpdateConnector['changes'][] = [
      { url: 'https://mcp.example.com/' },
      { sealed: 'v1.key.new' },
      { authType: 'none', sealed: null },
    ]
    for (const change of changes) {
      await checked(world, (await read(world, connector))!, 'It is gone.')
      expect(await update(world, connector, change)).toMatchObject({ connector: untested })
      expect(await read(world, connector)).toMatchObject(untested)
    }
  })

  contractTest('ignores a check started before an update, even within the same millisecond', async (world) => {
    const connector = await created(world, await world.createUser())
    const changed = await update(world, connector, { url: 'https://example.org/' })
    expect(changed).toMatchObject({ connector: { updatedAt: connector.updatedAt + 1 } })
    await checked(world, connector)
    expect(await read(world, connector)).toMatchObject({ status: 'untested', checkedAt: null })
    await update(world, connector, { name: 'renamed' })
    const { updatedAt } = (await read(world, connector))!
    expect(updatedAt).toBe(connector.updatedAt + 2)
    expect(await checked(world, { ...connector, updatedAt })).toMatchObject({ status: 'ok' })
  })
}

function describeSealing(contractTest: ContractTest): void {
  contractTest('pages through the encrypted secrets of all users, each once, ordered by id', async (world) => {
    const userIds = [await world.createUser(), await world.createUser(), await world.createUser()]
    const expected: ConnectorRecord[] = []
    for (let n = 0; n < 10; n++) {
      world.clock.advance(1)
      const userId = userIds[n % 3]!
      expected.push(await created(world, userId, { sealed: `v1.key.${n}` }))
      await created(world, userId, { authType: 'none', sealed: null })
    }
    const seen: ConnectorRecord[] = []
    let page: ConnectorRecord[]
    do {
      page = await world.store.sealedConnectors({ afterId: seen.at(-1)?.id ?? '', limit: 4 })
      expect(page.length).toBeLessThanOrEqual(4)
      seen.push(...page)
    } while (page.length > 0)
    expect(seen).toEqual(expected)
  })

  contractTest('re-encrypts secrets only if they have not changed since they were read', async (world) => {
    const userId = await world.createUser()
    const [connector, other] = [await created(world, userId), await created(world, userId)]
    const { id: connectorId } = connector
    const reseal = (from: string, to: string) => world.store.resealConnector({ connectorId, from, to })
    const ok = await checked(world, connector)
    world.clock.advance(1000)
    expect(await reseal('v1.key.secrets', 'v1.new.secrets')).toBe(true)
    // Only the encryption changed, so the connector keeps its status.
    expect(await read(world, connector)).toEqual({ ...ok, sealed: 'v1.new.secrets' })
    expect(await reseal('v1.key.secrets', 'v1.newer.secrets')).toBe(false)
    await update(world, connector, { sealed: 'v1.new.given' })
    expect(await reseal('v1.new.secrets', 'v1.newer.secrets')).toBe(false)
    expect(await read(world, connector)).toMatchObject({ sealed: 'v1.new.given' })
    await update(world, connector, { authType: 'none', sealed: null })
    expect(await reseal('v1.new.given', 'v1.newer.secrets')).toBe(false)
    expect(await read(world, connector)).toMatchObject({ authType: 'none', sealed: null })
    expect(await read(world, other)).toEqual(other)
  })

  contractTest('only one of several parallel re-encryptions succeeds', async (world) => {
    const connector = await created(world, await world.createUser())
    const change = { connectorId: connector.id, from: 'v1.key.secrets' }
    const tries = Array.from({ length: 8 }, (_, n) => world.store.resealConnector({ ...change, to: `v1.new.${n}` }))
    expect((await Promise.all(tries)).filter(Boolean)).toHaveLength(1)
  })
}
