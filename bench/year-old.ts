import { parseArgs } from 'node:util'
import { resolveLimits } from '../server/app/config.ts'
import { openPayloads } from '../server/app/open-payloads.ts'
import { draftKey } from '../server/auth/keys/manage-keys.ts'
import { assert, must } from '../server/kernel/assert.ts'
import { newId } from '../server/kernel/ids.ts'
import { scopes } from '../server/store/access/key-types.ts'
import { sendsMail } from '../server/store/mails/mail-types.ts'
import { openPostgresStore } from '../server/store/postgres/postgres-store.ts'
import { nothingUsed } from '../server/store/sessions/turn-endings.ts'
import { openSqliteStore } from '../server/store/sqlite/sqlite-store.ts'
import type { Store } from '../server/store/store.ts'

// Creates an installation that looks as if people had used it for a year:
//
//   node bench/year-old.ts --data DIR --tasks 100000

const dayMs = 86_400_000
const yearMs = 365 * dayMs
const userCount = 40
/** Tasks to run simultaneously. */
const tasksAtOnce = 200
const text = 'A sentence of an old request. '.repeat(20)
const largeText = text.repeat(40)
const agentId = 'test'
const failure = { code: 'AGENT_ERROR', message: 'An old error message.', details: 'Error: old' }

type Installation = {
  dataDir: string
  databaseUrl?: string | undefined
  tasks: number
  /** Number of days on which people use the installation, evenly spaced. Default: every day. */
  days?: number
}
export type YearOldUser = { userId: string; key: string }
type Person = YearOldUser & { keyId: string; webhookId: string | null }

/** Fills an empty data directory or database. The year ends today. Returns the users. */
export async function fillYear({ databaseUrl, dataDir, days = 365, tasks }: Installation): Promise<YearOldUser[]> {
  let now = Date.now() - yearMs
  const clock = { now: () => now }
  const limits = resolveLimits({ executionsPerMinute: 0, abuseFailures: 0, payloadBytesPerDay: 0 }, {})
  const onFatal = (cause: unknown) => {
    throw cause
  }
  const options = { limits, onFatal, clock: () => clock }
  const store =
    databaseUrl === undefined
      ? openSqliteStore({ ...options, dataDir })
      : await openPostgresStore({ ...options, databaseUrl })
  const payloads = await openPayloads(
    { dataDir, databaseUrl, secrets: () => ({ current: '', previous: [] }) },
    store,
    clock,
  )
  const year = new Year({ store, payloads, clock })
  await store.settings.replace(sendsMail, 'yes')
  for (let day = 0; day < days; day++) {
    await year.passDay(day, Math.round((tasks * (day + 1)) / days) - Math.round((tasks * day) / days))
    now += Math.floor(yearMs / days)
  }
  const report = await store.verifyLedger()
  assert(report.ok, `the ledger is consistent: ${JSON.stringify(report.differences)}`)
  await payloads.close()
  await store.close()
  return year.people.map(({ key, userId }) => ({ key, userId }))
}

type Parts = { store: Store; payloads: Awaited<ReturnType<typeof openPayloads>>; clock: { now(): number } }

class Year {
  readonly people: Person[] = []
  readonly #parts: Parts
  #tasks = 0

  constructor(parts: Parts) {
    this.#parts = parts
  }

  async passDay(day: number, tasks: number): Promise<void> {
    const { store } = this.#parts
    if (this.people.length < userCount) this.people.push(await this.#join(this.people.length))
    for (let left = tasks; left > 0; left -= tasksAtOnce) {
      const count = Math.min(left, tasksAtOnce)
      await Promise.all(Array.from({ length: count }, () => this.#runTask(this.#tasks++)))
    }
    const person = this.people[day % this.people.length]!
    await this.#chat(person)
    if (day % 3 === 0) await this.#pay(person, day)
    if (day % 30 === 7) await this.#administer(person)
    if (day === 20) await this.#leave()
    await this.#deliver()
    while (await store.noteExpired()) continue
    while (await store.purgeExpired()) continue
    while (await store.books.close()) continue
  }

  /** Creates a user with a balance and a key. Every fourth user also has a webhook. */
  async #join(n: number): Promise<Person> {
    const { clock, store } = this.#parts
    const created = await store.createUser({ email: `user-${n}@example.com`, passwordHash: null, isAdmin: n === 0 })
    assert(created.outcome === 'created', 'the installation is new')
    const { userId } = created
    await store.credit({ userId, amount: 1_000_000_000, description: 'Contract', idempotencyKey: null })
    const { key, token } = draftKey({ userId, name: 'server', scopes: [...scopes], expiresAt: null })
    const { id: keyId } = await store.createKey(key)
    const webhookId = n % 4 === 0 ? newId('hook', clock.now()) : null
    const webhook = { userId, url: 'https://hooks.example.com/', description: '', types: null, sealed: '' }
    if (webhookId !== null) await store.webhooks.create({ ...webhook, webhookId })
    return { userId, key: token, keyId, webhookId }
  }

  /** One task in ten fails, one in ten is metered, and one in fifty has a large result. */
  async #runTask(n: number): Promise<void> {
    const { clock, payloads, store } = this.#parts
    const { keyId, userId } = this.people[n % this.people.length]!
    const taskId = newId('task', clock.now())
    const isMetered = n % 10 === 1
    const admitted = await store.admitTask({
      taskId,
      userId,
      keyId,
      agentId,
      endpointId: 'test.echo',
      cost: 100,
      request: { text: JSON.stringify({ n, text }), payloadId: null },
      connectorIds: null,
      idempotency: null,
      tags: { project: `p${n % 7}` },
      meters: isMetered ? { page: 10 } : null,
    })
    assert(admitted.outcome === 'accepted', 'the user has enough balance')
    const claimed = must(await store.claimTask(taskId), 'the task is queued')
    assert(typeof claimed === 'object', 'the task may start')
    const { attempt } = claimed
    if (n % 10 === 0) return void (await store.failTask({ taskId, attempt, error: failure, countsAsAbuse: false }))
    const usage = isMetered ? { usage: { page: n % 11 } } : {}
    if (n % 50 !== 2) {
      const response = { text: JSON.stringify({ answer: text }), payloadId: null }
      return void (await store.completeTask({ taskId, attempt, response, ...usage }))
    }
    const { digest, id: payloadId } = await payloads.write(JSON.stringify({ answer: largeText }))
    const response = { text: largeText.slice(0, 1000), payloadId, digest }
    await store.completeTask({ taskId, attempt, response, ...usage })
    await payloads.release(payloadId)
  }

  async #chat({ keyId, userId }: Person): Promise<void> {
    const { clock, store } = this.#parts
    const sessionId = newId('ses', clock.now())
    await store.createSession({ sessionId, userId, agentId: 'talk', metadata: {}, idempotency: null })
    for (const content of ['An old question.', 'Another one.']) {
      const turnId = newId('turn', clock.now())
      await store.openTurn({ turnId, userId, sessionId, keyId, required: 1, hold: 50, idempotency: null })
      await store.settleTurn({
        turnId,
        outcome: 'finished',
        cost: 20,
        breakdown: { ...nothingUsed, promptTokens: 1, completionTokens: 1 },
        exchange: { message: { content, tokens: 1 }, reply: { content: text, tokens: 1, toolCalls: [] } },
      })
    }
  }

  /** Pays 10 USD, of which some is later refunded or disputed. */
  async #pay({ userId }: Person, day: number): Promise<void> {
    const { clock, store } = this.#parts
    const [topupId, amount] = [newId('top', clock.now()), 100_000]
    await store.payments.createTopup({ topupId, userId, provider: 'stripe', amount, idempotency: null })
    const nothing = { reason: null, checkoutId: null, receiptUrl: null, method: null, refunded: 0, disputed: 0 }
    const paid = {
      ...nothing,
      topupId,
      status: 'paid',
      paymentId: `pi_${day}`,
      paid: { amount, currency: 'usd' },
    } as const
    const states = [paid, ...(day % 4 === 0 ? [{ ...paid, refunded: 20_000 }] : [])]
    if (day % 5 === 0) states.push({ ...states.at(-1)!, disputed: 30_000 }, states.at(-1)!)
    for (const [version, state] of states.entries()) await store.payments.applyState({ state, version })
  }

  /** Makes changes that the audit log records. */
  async #administer(person: Person): Promise<void> {
    const { clock, store } = this.#parts
    const { userId } = person
    const { key, token } = draftKey({ userId, name: 'server', scopes: [...scopes], expiresAt: null })
    const rotated = await store.rotateKey({ userId, keyId: person.keyId, key, oldExpiresAt: clock.now() + dayMs })
    Object.assign(person, { key: token, keyId: must(rotated, 'the key is active').id })
    await store.changeAccountLimits({ userId, changes: { executionsPerMinute: 1000 } })
    const login = { tokenHash: key.tokenHash, method: 'password', provider: null, userAgent: null } as const
    await store.createLogin({ ...login, userId, forget: null })
    await store.endLogins(userId)
  }

  /** Creates a user who runs a task and is then erased. */
  async #leave(): Promise<void> {
    const { store } = this.#parts
    this.people.push(await this.#join(userCount))
    await this.#runTask(this.people.length - 1)
    const { userId } = this.people.pop()!
    const { balance } = must(await store.getAccount(userId), 'the user exists')
    const erased = await store.erasure.erase({ userId, forfeit: balance })
    assert(erased.outcome === 'erased', 'nothing prevents the erasure')
    while (await store.erasure.eraseMore(userId)) continue
  }

  async #deliver(): Promise<void> {
    const { mails, webhooks } = this.#parts.store
    const wanted = this.people.flatMap(({ webhookId: target }) => (target === null ? [] : [{ target, count: 1000 }]))
    const deliveries = await webhooks.lease({ wanted, leaseMs: 1000 })
    await webhooks.end(deliveries.map((one) => ({ ...one, outcome: { kind: 'succeeded', httpStatus: 204 } })))
    for (const mail of await mails.lease({ limit: 1000, leaseMs: 1000 })) {
      await mails.end({ ...mail, outcome: { kind: 'sent' } })
    }
  }
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { data: { type: 'string' }, tasks: { type: 'string', default: '10000' } } })
  const dataDir = must(values.data, 'the option --data is set')
  const users = await fillYear({ dataDir, tasks: Number(values.tasks) })
  console.log(JSON.stringify({ dataDir, users }, null, 2))
}
