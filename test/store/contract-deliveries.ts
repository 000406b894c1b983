import { expect } from 'vitest'
import { must } from '../../server/kernel/assert.ts'
import { newId } from '../../server/kernel/ids.ts'
import {
  platformOwner,
  type AttemptOutcome,
  type DueTarget,
  type LeasedDelivery,
} from '../../server/store/events/webhook-types.ts'
import type { EventType } from '../../server/store/events/event-types.ts'
import type { ContractTest } from './store-contract.ts'
import type { StoreWorld } from './store-world.ts'

const leaseMs = 60_000
const again = { kind: 'failed', httpStatus: 500, error: 'no', againInMs: 5000 } as const

type New = { url?: string | null; types?: EventType[] }

async function create(world: StoreWorld, userId: string, { types, url = 'https://example.com/' }: New = {}) {
  const webhookId = newId('hook', world.clock.now())
  const input = { userId, webhookId, url, description: '', types: types ?? null, sealed: 'sealed' }
  return { webhookId, result: await world.store.webhooks.create(input) }
}

const credit = (world: StoreWorld, userId: string) =>
  world.store.credit({ userId, amount: 1, description: '', idempotencyKey: null })

const byWebhook = (a: { webhookId: string }, b: { webhookId: string }) => (a.webhookId < b.webhookId ? -1 : 1)

const all = (world: StoreWorld, of: { userId: string; webhookId: string }) =>
  world.store.webhooks.listDeliveries({ ...of, limit: 1000 })

async function lease(world: StoreWorld, target: string, count = 100): Promise<LeasedDelivery[]> {
  return await world.store.webhooks.lease({ wanted: [{ target, count }], leaseMs })
}

async function targets(world: StoreWorld, { limit = 10, perWebhook = 10 } = {}): Promise<DueTarget[]> {
  const seen: DueTarget[] = []
  const cursors = new Map<string, string>()
  for (let after = '', isMore = true; isMore;) {
    const found = await world.store.webhooks.targets({ after, limit, perWebhook, cursors })
    for (const one of found) {
      seen.push(...one.targets)
      if (one.targets.length === perWebhook) cursors.set(one.webhookId, one.targets.at(-1)!.target)
      else cursors.delete(one.webhookId)
    }
    after = found.length < limit ? '' : found.at(-1)!.webhookId
    isMore = after !== '' || cursors.size > 0
  }
  return seen
}

const end = (world: StoreWorld, leased: LeasedDelivery[], outcome: AttemptOutcome) =>
  world.store.webhooks.end(leased.map((one) => ({ ...one, outcome })))

export function describeDeliveries(contractTest: ContractTest): void {
  contractTest('delivers an event only to matching enabled webhooks of its user', async (world) => {
    const userId = await world.createUser(1000)
    const other = await world.createUser(1000)
    const every = await create(world, userId)
    const failures = await create(world, userId, { types: ['task.failed', 'credit.added'] })
    const disabled = await create(world, userId)
    await world.store.webhooks.update({ userId, webhookId: disabled.webhookId, changes: { isEnabled: false } })
    const ofTasks = await create(world, userId, { url: null })
    const foreign = await create(world, other)
    const webhookUrl = 'https://task.example.com:8443/told?of=it'
    const { id: completed } = await world.completed(userId, { webhookUrl })
    const { id: failed } = await world.failed(userId)
    const idsOf = async ({ webhookId }: { webhookId: string }, of = userId) =>
      (await all(world, { userId: of, webhookId })).map(({ eventId }) => eventId).toSorted()
    const events = [completed, failed].map((id) => id.replace('task', 'evt'))
    expect(await idsOf(every)).toEqual(events.toSorted())
    expect(await idsOf(failures)).toEqual([events[1]])
    expect(await idsOf(disabled)).toEqual([])
    expect(await idsOf(foreign, other)).toEqual([])
    const [told] = await all(world, { userId, webhookId: ofTasks.webhookId })
    expect(told).toMatchObject({ eventId: events[0], url: webhookUrl, type: 'task.completed', status: 'pending' })
    const [taken] = await lease(world, `${ofTasks.webhookId} https://task.example.com:8443`)
    expect(taken).toMatchObject({ url: webhookUrl, attempt: 1, userId })
  })

  contractTest("the platform's webhooks receive the events of all users but admins, with the user", async (world) => {
    const { webhookId } = await create(world, platformOwner)
    const userId = await world.createUser(1000)
    const opened = await world.store.platform.openUser({ externalId: 'customer "1"', email: null, keyId: null })
    if (opened.outcome === 'refused') throw new Error('it is a new user')
    await credit(world, opened.userId)
    const admin = await world.store.createUser({ email: 'admin@example.com', passwordHash: null, isAdmin: true })
    if (admin.outcome === 'refused') throw new Error('it is a new user')
    await credit(world, admin.userId)
    await world.completed(userId)
    const leased = (await lease(world, webhookId)).map(({ body, ...one }) => ({ ...one, body: JSON.parse(body) }))
    expect(leased).toHaveLength(3)
    expect(leased).toEqual(
      expect.arrayContaining(
        [
          { type: 'credit.added', externalId: null, userId },
          { type: 'task.completed', externalId: null, userId },
          { type: 'credit.added', externalId: 'customer "1"', userId: opened.userId },
        ].map((body) =>
          expect.objectContaining({
            userId: platformOwner,
            body: { ...body, timestamp: expect.any(String), data: expect.any(Object) },
          }),
        ),
      ),
    )
    expect(await world.store.findOwner(webhookId)).toBeUndefined()
    expect((await world.store.verifyLedger()).differences).toEqual([])
  })

  contractTest("the platform's webhook signs a task URL if its user has no webhook that does", async (world) => {
    const { webhookId } = await create(world, platformOwner, { url: null })
    const userId = await world.createUser(1000)
    const webhookUrl = 'https://task.example.com/told'
    const { id } = await world.completed(userId, { webhookUrl })
    const { webhookId: ownId } = await create(world, userId, { url: null })
    await world.completed(userId, { webhookUrl })
    expect(await all(world, { userId, webhookId: ownId })).toHaveLength(1)
    await world.store.webhooks.update({ userId, webhookId: ownId, changes: { isEnabled: false } })
    const { id: last } = await world.completed(userId, { webhookUrl })
    const told = (await lease(world, `${webhookId} https://task.example.com`)).map(({ eventId, url }) => eventId + url)
    expect(told.toSorted()).toEqual([id, last].toSorted().map((one) => one.replace('task', 'evt') + webhookUrl))
    expect((await world.store.verifyLedger()).differences).toEqual([])
  })

  contractTest('a user and the platform have at most ten webhooks, only one of them for task URLs', async (world) => {
    for (const userId of [await world.createUser(0), platformOwner]) {
      const made = await Promise.all(Array.from({ length: 2 }, () => create(world, userId, { url: null })))
      made.push(...(await Promise.all(Array.from({ length: 10 }, () => create(world, userId)))))
      const outcomes = made.map(({ result }) => (result.outcome === 'created' ? 'created' : result.reason))
      expect(outcomes.filter((one) => one === 'created')).toHaveLength(10)
      expect(outcomes).toContain('task-webhook')
      const kept = await world.store.webhooks.list(userId)
      expect(kept).toHaveLength(10)
      expect(kept.filter(({ url }) => url === null)).toHaveLength(1)
    }
  })

  contractTest('leases a delivery to one caller until the lease expires, then to another', async (world) => {
    const userId = await world.createUser(0)
    const { webhookId } = await create(world, userId)
    for (let n = 0; n < 20; n++) await credit(world, userId)
    const taken = (await Promise.all(Array.from({ length: 6 }, () => lease(world, webhookId, 7)))).flat()
    expect(taken).toHaveLength(20)
    expect(new Set(taken.map(({ eventId }) => eventId)).size).toBe(20)
    world.clock.advance(leaseMs - 1)
    expect(await lease(world, webhookId)).toEqual([])
    world.clock.advance(1)
    const second = await lease(world, webhookId)
    expect(second.map(({ attempt }) => attempt)).toEqual(Array<number>(20).fill(2))
    // The bodies are unchanged, and results of the first attempts no longer count.
    const bodies = new Map(taken.map(({ body, eventId }) => [eventId, body]))
    for (const { body, eventId } of second) expect(body).toBe(bodies.get(eventId))
    await end(world, taken, { kind: 'succeeded', httpStatus: 200 })
    expect((await all(world, { userId, webhookId })).every(({ status }) => status === 'pending')).toBe(true)
    await end(world, second, { kind: 'succeeded', httpStatus: 204 })
    expect(new Set((await all(world, { userId, webhookId })).map(({ status }) => status))).toEqual(
      new Set(['succeeded']),
    )
  })

  contractTest('retries a failed attempt after its delay and an unsent one immediately', async (world) => {
    const userId = await world.createUser(0)
    const { webhookId } = await create(world, userId)
    await credit(world, userId)
    await end(world, await lease(world, webhookId), again)
    world.clock.advance(4999)
    expect(await lease(world, webhookId)).toEqual([])
    world.clock.advance(1)
    const second = await lease(world, webhookId)
    expect(second).toMatchObject([{ attempt: 2, isFailing: true }])
    await end(world, second, { kind: 'unsent' })
    const third = await lease(world, webhookId)
    expect(third).toMatchObject([{ attempt: 2 }])
    await end(world, third, { ...again, againInMs: null })
    expect(await all(world, { userId, webhookId })).toMatchObject([
      { status: 'failed', attempts: 2, dueAt: null, httpStatus: 500, error: 'no' },
    ])
  })

  contractTest('keeps the trace of the last attempt through a redelivery, and computes health', async (world) => {
    const userId = await world.createUser(0)
    const { webhookId } = await create(world, userId)
    const none = { succeeded: 0, failed: 0, responseP95Ms: null }
    const attempt = { at: 1, durationMs: 2, httpStatus: 500, error: 'no' }
    const response = { head: 'HTTP/1.1 500', body: 'boom \0' }
    const trace = { url: 'https://example.com/', response, attempts: [attempt] }
    expect(await world.store.webhooks.health(webhookId)).toEqual({ ...none, lastFailure: null })
    await credit(world, userId)
    const [first] = await lease(world, webhookId)
    expect(first).toMatchObject({ trace: null })
    await world.store.webhooks.end([{ ...first!, outcome: again, trace }])
    const of = { webhookId, eventId: first!.eventId }
    expect(await world.store.webhooks.getSent(of)).toMatchObject({ status: 'pending', body: first!.body, trace })
    const at = world.clock.now()
    expect(await world.store.webhooks.health(webhookId)).toEqual({ ...none, lastFailure: { at, error: 'no' } })
    await world.store.webhooks.redeliver(of)
    expect(await lease(world, webhookId)).toMatchObject([{ trace, attempt: 1 }])
    expect(await world.store.webhooks.getSent({ ...of, eventId: 'evt_0' })).toBeUndefined()
    for (let n = 0; n < 120; n++) {
      world.clock.advance(1)
      await credit(world, userId)
      const failed = { kind: 'failed', httpStatus: 500, error: `no ${n}`, againInMs: null } as const
      const attempts = [{ ...attempt, durationMs: n, httpStatus: n === 119 ? null : 500 }]
      const leased = (await lease(world, webhookId, 1)).map((one) => ({ ...one, trace: { ...trace, attempts } }))
      await end(world, leased, n % 4 === 0 ? failed : { kind: 'succeeded', httpStatus: 200 })
    }
    expect(await world.store.webhooks.health(webhookId)).toEqual({
      succeeded: 75,
      failed: 25,
      responseP95Ms: 114, // There are 99 responses, which took 20 to 118 ms.
      lastFailure: { at: at + 117, error: 'no 116' },
    })
  })

  contractTest('visits all targets in order, regardless of how many deliveries one has', async (world) => {
    const userId = await world.createUser(0)
    const made = []
    for (let n = 0; n < 5; n++) made.push((await create(world, userId)).webhookId)
    for (let n = 0; n < 30; n++) await credit(world, userId)
    await end(world, await lease(world, made[2]!), again)
    const seen = await targets(world, { limit: 2 })
    for (const { isDue, target } of seen) expect(isDue).toBe(target !== made[2])
    expect(seen.map(({ target }) => target)).toEqual(made.toSorted())
    for (const target of made) {
      const taken = await lease(world, target)
      await end(world, taken, { kind: 'succeeded', httpStatus: 200 })
    }
    expect((await targets(world)).map(({ target }) => target)).toEqual([made[2]])
  })

  contractTest('pages through many origins of one webhook without crowding out others', async (world) => {
    const userId = await world.createUser(1000)
    const other = await world.createUser(0)
    const { webhookId } = await create(world, userId, { url: null })
    const { webhookId: behind } = await create(world, other)
    for (let n = 0; n < 7; n++) await world.completed(userId, { webhookUrl: `https://of${n}.example.com/` })
    await credit(world, other)
    const cursors = new Map<string, string>()
    const found = await world.store.webhooks.targets({ after: '', limit: 2, perWebhook: 3, cursors })
    expect(found).toMatchObject(
      [
        { webhookId, userId },
        { webhookId: behind, userId: other },
      ].toSorted(byWebhook),
    )
    const origins = Array.from({ length: 7 }, (_, n) => `${webhookId} https://of${n}.example.com`)
    expect(found.find((one) => one.webhookId === webhookId)!.targets.map(({ target }) => target)).toEqual(
      origins.slice(0, 3),
    )
    const names = (await targets(world, { limit: 2, perWebhook: 3 })).map(({ target }) => target)
    expect(names.filter((target) => target !== behind)).toEqual(origins)
  })

  contractTest('a lease from before a redelivery cannot end the new delivery', async (world) => {
    const userId = await world.createUser(0)
    const { webhookId } = await create(world, userId)
    await credit(world, userId)
    const succeeded = { kind: 'succeeded', httpStatus: 200 } as const
    const [first] = await lease(world, webhookId)
    const of = { webhookId, eventId: first!.eventId }
    expect(await world.store.webhooks.redeliver(of)).toMatchObject({ status: 'pending', attempts: 0 })
    await end(world, [first!], succeeded)
    expect(await world.store.webhooks.getDelivery(of)).toMatchObject({ status: 'pending', attempts: 0 })
    const [second] = await lease(world, webhookId)
    expect(second).toMatchObject({ attempt: 1 })
    await end(world, [first!], succeeded)
    await end(world, [second!], again)
    expect(await world.store.webhooks.getDelivery(of)).toMatchObject({ status: 'pending', httpStatus: 500 })
    // Once a delivery has been put back and leased again, its earlier lease no longer counts.
    world.clock.advance(5000)
    const [third] = await lease(world, webhookId)
    await end(world, [third!], { kind: 'unsent' })
    const [fourth] = await lease(world, webhookId)
    expect(fourth).toMatchObject({ attempt: 2 })
    await end(world, [third!], { kind: 'unsent' })
    await end(world, [fourth!], succeeded)
    expect(await world.store.webhooks.getDelivery(of)).toMatchObject({ status: 'succeeded', attempts: 2 })
  })

  contractTest(
    "cancels a delivery of another user's event instead of sending it",
    async (world) => {
      const [userId, other] = [await world.createUser(0), await world.createUser(0)]
      const { webhookId } = await create(world, userId)
      const { webhookId: foreign } = await create(world, other)
      await credit(world, userId)
      await world.tamper({ what: 'delivery-moved', from: webhookId, to: foreign })
      expect(await lease(world, foreign)).toEqual([])
      expect(await all(world, { userId: other, webhookId: foreign })).toMatchObject([{ status: 'canceled' }])
    },
    { tampers: true },
  )

  contractTest('a 410 response disables a webhook despite simultaneous changes by its user', async (world) => {
    const userId = await world.createUser(0)
    for (let n = 0; n < 30; n++) {
      const { webhookId } = await create(world, userId)
      await credit(world, userId)
      const leased = await lease(world, webhookId)
      const update = (description: string) =>
        world.store.webhooks.update({ userId, webhookId, changes: { description } })
      await Promise.all([
        update('one'),
        update('two'),
        end(world, leased, { kind: 'gone', httpStatus: 410, error: 'gone' }),
        update('three'),
        update('four'),
      ])
      expect(await world.store.webhooks.get({ userId, webhookId })).toMatchObject({ disabledReason: 'gone' })
      await world.store.webhooks.delete({ userId, webhookId })
    }
  })

  contractTest('disabling or deleting a webhook cancels its pending deliveries', async (world) => {
    const userId = await world.createUser(0)
    const [disabled, deleted] = [(await create(world, userId)).webhookId, (await create(world, userId)).webhookId]
    for (let n = 0; n < 5; n++) await credit(world, userId)
    await world.store.webhooks.update({ userId, webhookId: disabled, changes: { isEnabled: false } })
    expect(await world.store.webhooks.delete({ userId, webhookId: deleted })).toBe(true)
    for (const target of [disabled, deleted]) {
      expect(await lease(world, target)).toEqual([])
      const statuses = (await all(world, { userId, webhookId: target })).map(({ status }) => status)
      expect(statuses).toEqual(Array<string>(5).fill('canceled'))
    }
    expect(await targets(world)).toEqual([])
    await credit(world, userId)
    expect(await targets(world)).toEqual([])
  })

  contractTest('disables a webhook after 410 from its current URL or three days of failures', async (world) => {
    const userId = await world.createUser(0)
    const get = async (webhookId: string) => must(await world.store.webhooks.get({ userId, webhookId }), 'it is there')
    const { webhookId: moved } = await create(world, userId)
    await credit(world, userId)
    const taken = await lease(world, moved)
    await world.store.webhooks.update({ userId, webhookId: moved, changes: { url: 'https://new.example.com/' } })
    await end(world, taken, { kind: 'gone', httpStatus: 410, error: 'gone' })
    expect(await get(moved)).toMatchObject({ disabledAt: null })
    await credit(world, userId)
    await credit(world, userId)
    await end(world, await lease(world, moved, 1), { kind: 'gone', httpStatus: 410, error: 'gone' })
    expect(await get(moved)).toMatchObject({ disabledReason: 'gone' })
    const statuses = (await all(world, { userId, webhookId: moved })).map(({ status }) => status)
    expect(statuses.toSorted()).toEqual(['canceled', 'failed', 'failed'])

    const { webhookId: failing } = await create(world, userId)
    const day = 86_400_000
    const attempt = async (outcome: AttemptOutcome) => {
      await credit(world, userId)
      await end(world, await lease(world, failing), outcome)
    }
    await attempt(again)
    world.clock.advance(3 * day - 1)
    await attempt(again)
    expect(await get(failing)).toMatchObject({ disabledAt: null, failingSince: expect.any(Number) })
    await attempt({ kind: 'succeeded', httpStatus: 200 })
    expect(await get(failing)).toMatchObject({ disabledAt: null, failingSince: null })
    await attempt(again)
    world.clock.advance(3 * day)
    await attempt(again)
    expect(await get(failing)).toMatchObject({ disabledReason: 'failing' })
  })

  contractTest('secrets are replaced only if unchanged since read, and survive a restart', async (world) => {
    const userId = await world.createUser(0)
    const { webhookId } = await create(world, userId)
    const rotate = (from: string, to: string) =>
      world.store.webhooks.rotate({ userId, webhookId, from, to, previousUntil: 5000 })
    const tries = await Promise.all(Array.from({ length: 5 }, (_, n) => rotate('sealed', `next ${n}`)))
    expect(tries.filter(Boolean)).toHaveLength(1)
    const [webhook] = await world.store.webhooks.sealed({ afterId: '', limit: 10 })
    expect(await world.store.webhooks.reseal({ webhookId, from: 'sealed', to: 'x' })).toBe(false)
    expect(await world.store.webhooks.reseal({ webhookId, from: webhook!.sealed, to: 'y' })).toBe(true)
    await credit(world, userId)
    await world.reopen()
    expect(await world.store.webhooks.get({ userId, webhookId })).toMatchObject({ sealed: 'y', previousUntil: 5000 })
    expect(await lease(world, webhookId)).toMatchObject([{ sealed: 'y', attempt: 1 }])
    expect(await world.store.webhooks.get({ userId: await world.createUser(0), webhookId })).toBeUndefined()
  })

  contractTest('a test event reaches only one webhook and is deleted after seven days', async (world) => {
    const userId = await world.createUser(0)
    const { webhookId } = await create(world, userId)
    const other = await create(world, userId)
    const eventId = newId('evt', world.clock.now())
    const sent = await world.store.webhooks.test({ userId, webhookId, eventId, leaseMs })
    expect(sent).toMatchObject({ eventId, attempt: 1, body: expect.stringContaining('webhook.test') })
    expect(await lease(world, webhookId)).toEqual([])
    expect(await all(world, { userId, webhookId })).toHaveLength(1)
    expect(await all(world, { userId, webhookId: other.webhookId })).toEqual([])
    world.clock.advance(7 * 86_400_000)
    await world.purge()
    expect(await all(world, { userId, webhookId })).toEqual([])
    expect(await world.events(userId)).toEqual([])
    expect(await targets(world)).toEqual([])
  })
}
