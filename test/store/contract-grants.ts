import type { ConnectorRecord } from '../../server/store/connectors/connector-types.ts'
import { expect } from 'vitest'
import { must } from '../../server/kernel/assert.ts'
import { created } from './connector-contract.ts'
import type { ContractTest } from './store-contract.ts'
import type { StoreWorld } from './store-world.ts'

const of = ({ id: connectorId, userId }: ConnectorRecord) => ({ connectorId, userId })
const tokens = { sealed: 'v1.key.tokens', expiresInMs: 60_000 }
const forMs = 10_000

function signsIn(world: StoreWorld, userId: string): Promise<ConnectorRecord> {
  return created(world, userId, { authType: 'oauth' })
}

function read(world: StoreWorld, connector: ConnectorRecord): Promise<ConnectorRecord> {
  return world.store.getConnector(of(connector)).then((found) => must(found, 'the connector exists'))
}

function begin(world: StoreWorld, connector: ConnectorRecord, stateHash: string) {
  const { updatedAt: ifUpdatedAt } = connector
  return world.store.grants.begin({ ...of(connector), stateHash, sealed: 'v1.key.state', lifeMs: 60_000, ifUpdatedAt })
}

/** Creates a signed-in connector, and returns it with the version of its tokens. */
async function granted(world: StoreWorld) {
  const needing = await signsIn(world, await world.createUser())
  const kept = { ...of(needing), ...tokens, issuer: 'https://issuer.example.com', ifUpdatedAt: needing.updatedAt }
  expect(await world.store.grants.keep(kept)).toBe(true)
  const { version } = must(await world.store.grants.get(of(needing)), 'it was kept')
  return { connector: await read(world, needing), version }
}

export function describeGrants(contractTest: ContractTest): void {
  describeSignIns(contractTest)
  describeRefreshes(contractTest)
  describeEnds(contractTest)
}

function describeSignIns(contractTest: ContractTest): void {
  contractTest(
    'a sign-in can be completed once and before its expiry, and a new sign-in replaces it',
    async (world) => {
      const { grants } = world.store
      const connector = await signsIn(world, await world.createUser())
      expect(connector.status).toBe('needs_sign_in')
      expect(await begin(world, { ...connector, updatedAt: connector.updatedAt - 1 }, 'one')).toBeUndefined()
      expect(await grants.isPending(of(connector))).toBe(false)
      const expiresAt = world.clock.now() + 60_000
      expect(await begin(world, connector, 'one')).toEqual({ expiresAt })
      expect(await begin(world, connector, 'two')).toEqual({ expiresAt })
      expect(await grants.find('one')).toBeUndefined()
      expect(await grants.find('two')).toEqual({ ...of(connector), sealed: 'v1.key.state', expiresAt })
      const taken = await Promise.all(Array.from({ length: 5 }, () => grants.take('two')))
      expect(taken.filter((one) => one !== undefined)).toEqual([connector])
      expect(await grants.isPending(of(connector))).toBe(false)
      await begin(world, connector, 'three')
      world.clock.advance(60_000)
      expect(await grants.isPending(of(connector))).toBe(true)
      expect(await grants.take('three')).toBeUndefined()
      await begin(world, connector, 'four')
      world.clock.advance(59_999)
      await world.purge()
      expect(await grants.find('four')).toBeDefined()
      world.clock.advance(1)
      await world.purge()
      expect(await grants.find('four')).toBeUndefined()
    },
  )

  contractTest('only one of several parallel callers takes a sign-in', async (world) => {
    const { grants } = world.store
    const connector = await signsIn(world, await world.createUser())
    // Several rounds, because at first there are fewer open connections than callers.
    for (let round = 0; round < 20; round++) {
      await begin(world, connector, `round ${round}`)
      const taken = await Promise.all(Array.from({ length: 6 }, () => grants.take(`round ${round}`)))
      expect(taken.filter((one) => one !== undefined)).toEqual([connector])
    }
  })

  contractTest("tokens are stored for the connector's user only, and versions never repeat", async (world) => {
    const { grants } = world.store
    const { connector, version } = await granted(world)
    expect(connector).toMatchObject({ status: 'untested', statusMessage: null })
    const [issuer, expiresAt] = ['https://issuer.example.com', world.clock.now() + 60_000]
    const grant = { ...of(connector), issuer, sealed: tokens.sealed, expiresAt, version }
    expect(await grants.get(of(connector))).toEqual(grant)
    const theirs = { ...of(connector), userId: await world.createUser() }
    expect(await grants.get(theirs)).toBeUndefined()
    expect(await grants.claim({ ...theirs, version, forMs })).toBe(false)
    expect(await grants.renew({ ...theirs, version, ...tokens })).toBeUndefined()
    const again = { ...of(connector), ...tokens, sealed: 'v1.key.other', issuer }
    expect(await grants.keep({ ...again, ifUpdatedAt: connector.updatedAt - 1 })).toBe(false)
    expect(await grants.get(of(connector))).toEqual(grant)
    world.clock.advance(5)
    expect(await grants.keep({ ...again, expiresInMs: null, ifUpdatedAt: connector.updatedAt })).toBe(true)
    const next = must(await grants.get(of(connector)), 'it was kept')
    expect(next).toMatchObject({ sealed: 'v1.key.other', expiresAt: null })
    expect(next.version).toBeGreaterThan(version)
    await world.reopen()
    expect(await world.store.grants.get(of(connector))).toEqual(next)
  })
}

function describeRefreshes(contractTest: ContractTest): void {
  contractTest('only one of several parallel callers may refresh tokens until its claim expires', async (world) => {
    const { grants } = world.store
    const { connector, version } = await granted(world)
    const claim = () => grants.claim({ ...of(connector), version, forMs })
    const race = async () => (await Promise.all(Array.from({ length: 8 }, claim))).filter(Boolean).length
    expect(await race()).toBe(1)
    world.clock.advance(forMs - 1)
    expect(await race()).toBe(0)
    world.clock.advance(1)
    expect(await race()).toBe(1)
    await grants.release({ ...of(connector), version: version + 1 })
    expect(await claim()).toBe(false)
    await grants.release({ ...of(connector), version })
    expect(await race()).toBe(1)
  })

  contractTest(
    'tokens are refreshed once, only from the newest version, which can be claimed immediately',
    async (world) => {
      const { grants } = world.store
      const { connector, version } = await granted(world)
      expect(await grants.claim({ ...of(connector), version, forMs })).toBe(true)
      world.clock.advance(20)
      const renew = (n: number) => grants.renew({ ...of(connector), version, sealed: `v1.key.${n}`, expiresInMs: 1000 })
      const renewed = (await Promise.all([1, 2, 3, 4].map(renew))).filter((grant) => grant !== undefined)
      expect(renewed).toMatchObject([{ version: version + 1, expiresAt: world.clock.now() + 1000 }])
      expect(await grants.get(of(connector))).toEqual(renewed[0])
      // Renewing tokens does not change the connector.
      expect(await read(world, connector)).toEqual(connector)
      expect(await grants.claim({ ...of(connector), version, forMs })).toBe(false)
      expect(await grants.claim({ ...of(connector), version: version + 1, forMs })).toBe(true)
    },
  )

  contractTest('re-encrypts tokens only if they are unchanged', async (world) => {
    const { grants } = world.store
    const [first, second] = [(await granted(world)).connector, (await granted(world)).connector]
    const listed = await grants.sealed({ afterId: '', limit: 10 })
    expect(listed.map(({ connectorId }) => connectorId)).toEqual([first.id, second.id].toSorted())
    const [{ connectorId }] = listed as [(typeof listed)[0]]
    expect(await grants.sealed({ afterId: '', limit: 1 })).toEqual(listed.slice(0, 1))
    expect(await grants.sealed({ afterId: connectorId, limit: 10 })).toEqual(listed.slice(1))
    expect(await grants.reseal({ connectorId, from: 'v1.key.past', to: 'v2' })).toBe(false)
    expect(await grants.reseal({ connectorId, from: tokens.sealed, to: 'v2' })).toBe(true)
    expect((await grants.sealed({ afterId: '', limit: 10 })).map(({ sealed }) => sealed)).toEqual(['v2', tokens.sealed])
  })
}

function describeEnds(contractTest: ContractTest): void {
  const drops: Record<string, (world: StoreWorld, connector: ConnectorRecord) => Promise<unknown>> = {
    'its URL changes': (world, connector) =>
      world.store.updateConnector({ ...of(connector), changes: { url: 'https://other.example.com/mcp' } }),
    'its client changes': (world, connector) =>
      world.store.updateConnector({ ...of(connector), changes: { sealed: 'v1.key.client' } }),
    'it is deleted': (world, connector) => world.store.deleteConnector(of(connector)),
  }
  for (const [when, drop] of Object.entries(drops)) {
    contractTest(`a connector loses its tokens and pending sign-in when ${when}`, async (world) => {
      const { grants } = world.store
      const { connector, version } = await granted(world)
      await begin(world, connector, 'one')
      await world.store.updateConnector({ ...of(connector), changes: { name: `renamed ${connector.id}` } })
      expect(await grants.get(of(connector))).toMatchObject({ version })
      expect(await grants.isPending(of(connector))).toBe(true)
      await drop(world, connector)
      expect(await grants.get(of(connector))).toBeUndefined()
      expect(await grants.isPending(of(connector))).toBe(false)
      expect(await grants.take('one')).toBeUndefined()
      expect(await grants.claim({ ...of(connector), version, forMs })).toBe(false)
      expect(await grants.renew({ ...of(connector), version, ...tokens })).toBeUndefined()
      expect(await grants.sealed({ afterId: '', limit: 10 })).toEqual([])
      const left = await world.store.getConnector(of(connector))
      expect(left?.status ?? 'needs_sign_in').toBe('needs_sign_in')
    })
  }

  contractTest('ends tokens of a given version once, after which none can be refreshed', async (world) => {
    const { grants } = world.store
    const { connector, version } = await granted(world)
    const end = (of_: { version: number | null; sealed: string | null }) =>
      grants.end({ ...of(connector), message: 'Sign in again.', ...of_ })
    expect(await end({ version: version - 1, sealed: null })).toBe(false)
    expect((await read(world, connector)).status).toBe('untested')
    const ends = await Promise.all(Array.from({ length: 4 }, () => end({ version, sealed: 'v1.key.client' })))
    expect(ends.filter(Boolean)).toHaveLength(1)
    expect(await read(world, connector)).toMatchObject({ status: 'needs_sign_in', statusMessage: 'Sign in again.' })
    expect(await grants.get(of(connector))).toMatchObject({ sealed: 'v1.key.client', expiresAt: null })
    expect(await grants.renew({ ...of(connector), version, ...tokens })).toBeUndefined()
    await grants.noteFailure({ ...of(connector), message: 'It was refused.' })
    expect(await read(world, connector)).toMatchObject({ statusMessage: 'It was refused.' })
    expect(await end({ version: null, sealed: null })).toBe(false)
    expect(await grants.get(of(connector))).toBeUndefined()
  })

  contractTest('ignores a failed sign-in of a connector that has tokens', async (world) => {
    const { connector } = await granted(world)
    await world.store.grants.noteFailure({ ...of(connector), message: 'It was refused.' })
    expect(await read(world, connector)).toEqual(connector)
  })
}
