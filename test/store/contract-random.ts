import { transactionTypes } from '../../server/store/accounts/account-types.ts'
import { taskStatuses } from '../../server/store/tasks/task-types.ts'
import fc from 'fast-check'
import { expect } from 'vitest'
import { unreachable } from '../../server/kernel/assert.ts'
import { newId } from '../../server/kernel/ids.ts'
import type { ContractTest } from './store-contract.ts'
import { StoreModel, type ModelTask } from './store-model.ts'
import { agentError, interrupted, noLimits, type StoreWorld } from './store-world.ts'

const limits = { ...noLimits, executionsPerMinute: 5, abuseFailures: 2, abuseWindowSeconds: 600, abuseBlockSeconds: 60 }
const agents = ['text', 'image']
const all = { limit: 1000, offset: 0 }
const prices = { page: 7, figure: 30 }
const response = { text: '{}', payloadId: null }

const person = fc.nat({ max: 1 })
/** Selects one of the tasks that fit the command (or of all if `isWild`), and an attempt relative to its latest one. */
const target = {
  task: fc.nat(),
  isWild: fc.constantFrom(false, false, false, true),
  lag: fc.constantFrom(0, 0, 0, 0, 1, -1),
}

const command = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('admit' as const),
      person,
      agentId: fc.constantFrom(...agents),
      cost: fc.nat({ max: 400 }),
      isMetered: fc.boolean(),
      key: fc.option(fc.constantFrom('one', 'two'), { freq: 2 }),
      bodyHash: fc.constantFrom('a', 'a', 'b'),
    }),
  },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('claim' as const), ...target }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('complete' as const), pages: fc.nat({ max: 60 }), ...target }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('note' as const), percent: fc.nat({ max: 100 }), ...target }) },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('fail' as const),
      counts: fc.constantFrom(true, true, true, false),
      ...target,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('interrupt' as const), retries: fc.nat({ max: 2 }), ...target }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('credit' as const), person, amount: fc.integer({ min: -500, max: 900 }) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('unblock' as const), person }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('advance' as const),
      ms: fc.constantFrom(1, 1, 999, 999, 999, 20_000, 20_000, 20_000, 59_999, 60_000, 600_000, 86_400_000),
    }),
  },
)
type Command = typeof command extends fc.Arbitrary<infer Value> ? Value : never
type History = { world: StoreWorld; model: StoreModel; people: string[] }

/** Runs the command on store and model, and compares the results. */
async function step({ world, model, people }: History, input: Command): Promise<void> {
  const { store } = world
  const now = world.clock.now()
  switch (input.kind) {
    case 'admit': {
      const { agentId, bodyHash, cost, key } = input
      const userId = people[input.person]!
      const meters = input.isMetered ? prices : null
      const draft = world.draft(userId, { agentId, cost, meters, idempotency: key === null ? null : { key, bodyHash } })
      const result = await store.admitTask(draft)
      const expected = model.admit({ taskId: draft.taskId, userId, agentId, cost, meters, key, bodyHash }, now)
      expect(result.outcome === 'refused' ? result.reason : result.outcome).toBe(expected)
      if (result.outcome === 'replayed') expect(result.taskId).toBe(model.users.get(userId)!.keys.get(key!)!.taskId)
      return
    }
    case 'credit': {
      const userId = people[input.person]!
      const credit = { userId, amount: input.amount, description: '', idempotencyKey: null }
      const result = await store.credit(credit)
      expect(result.outcome === 'refused' ? result.reason : result.outcome).toBe(model.credit(userId, input.amount))
      return
    }
    case 'unblock': {
      const userId = people[input.person]!
      expect(await store.unblock(userId)).toBe(model.unblock(userId, now))
      return
    }
    case 'advance':
      return world.clock.advance(input.ms)
    case 'claim':
    case 'complete':
    case 'fail':
    case 'interrupt':
    case 'note':
      return await moveTask({ world, model, people }, input)
    default:
      return unreachable(input)
  }
}

type Move = Extract<Command, { task: number }>

async function moveTask({ world: { clock, store }, model }: History, input: Move): Promise<void> {
  const isQueued = input.kind === 'claim'
  const fitting = model.tasks.filter((task) => (isQueued ? task.isQueued : model.isAtWork(task, task.attempt)))
  const tasks = input.isWild || fitting.length === 0 ? model.tasks : fitting
  const task = tasks[input.task % Math.max(1, tasks.length)]
  if (!task) return
  const now = clock.now()
  const ref = { taskId: task.id, attempt: task.attempt - input.lag }
  const { attempt } = ref
  if (input.kind === 'claim') {
    const claimed = await store.claimTask(task.id)
    expect(typeof claimed === 'object' ? claimed.attempt : claimed).toBe(model.claim(task, now))
  } else if (input.kind === 'complete') {
    const usage = task.meters ? { usage: usageWithin(task, input.pages) } : {}
    const stored = await store.completeTask({ ...ref, response, ...usage })
    expect(stored).toBe(model.complete(task, { attempt, now, ...usage }))
  } else if (input.kind === 'note') {
    const progress = JSON.stringify({ fraction: input.percent / 100 })
    await store.noteProgress([{ ...ref, progress }])
    model.note(task, attempt, progress)
  } else if (input.kind === 'fail') {
    const { counts } = input
    const stored = await store.failTask({ ...ref, error: agentError, countsAsAbuse: counts })
    expect(stored).toBe(model.fail(task, { attempt, counts, now }))
  } else {
    const { retries } = input
    const stored = await store.interruptTask({ ...ref, error: interrupted, retries })
    expect(stored).toBe(model.interrupt(task, { attempt, retries, now }))
  }
}

/** Returns up to `pages` pages, as many as the charge covers, and a figure if the rest of the charge covers one. */
function usageWithin({ cost, meters, status }: Pick<ModelTask, 'cost' | 'meters' | 'status'>, pages: number) {
  const page = Math.min(pages, Math.floor(cost / meters!['page']!))
  const left = cost - page * meters!['page']!
  return { page, figure: status === 'processing' && left >= meters!['figure']! ? 1 : 0 }
}

async function expectSame({ world, model, people }: History): Promise<void> {
  const { clock, store } = world
  for (const userId of people) {
    const user = model.users.get(userId)!
    for (const status of [undefined, ...taskStatuses]) {
      for (const agentId of [undefined, ...agents]) {
        const filter = { userId, ...(status && { status }), ...(agentId && { agentId }) }
        const tasks = model.listTasks(filter)
        expect(await store.listTasks({ ...filter, ...all })).toEqual({ tasks, total: tasks.length })
      }
    }
    for (const type of [undefined, ...transactionTypes]) {
      const rows = user.transactions.filter((row) => !type || row.type === type)
      const found = await store.listTransactions({ userId, ...(type && { type }), ...all })
      expect(found.transactions).toMatchObject(rows.map((row) => ({ ...row, amount: row.amount + 0 })))
      expect(found.total).toBe(rows.length)
    }
    const account = await store.getAccount(userId)
    expect(account).toMatchObject({ balance: user.balance, held: 0 })
    const now = clock.now()
    expect(Math.max(account!.blockedUntil ?? 0, now)).toBe(Math.max(user.blockedUntil, now))
  }
  for (const { givenBack, id: taskId, progress, usage, userId } of model.tasks) {
    if (!people.includes(userId)) continue
    expect(await store.getTask({ userId, taskId })).toMatchObject({ givenBack, progress, usage })
  }
  const ofRun = (await world.queued()).filter((id) => model.tasks.some((task) => task.id === id))
  expect(ofRun).toEqual(model.tasks.filter(({ isQueued }) => isQueued).map(({ id }) => id))
}

async function begin(world: StoreWorld): Promise<History> {
  const model = new StoreModel(limits)
  const people = [await world.createUser(0), await world.createUser(0)]
  for (const userId of people) {
    model.addUser(userId)
    await step({ world, model, people }, { kind: 'credit', person: people.indexOf(userId), amount: 1000 })
  }
  return { world, model, people }
}

export function describeRandomHistories(contractTest: ContractTest): void {
  contractTest(
    'random commands in any order match a simple model in every result',
    async (world) => {
      await fc.assert(
        fc.asyncProperty(fc.array(command, { minLength: 40, maxLength: 120 }), async (commands) => {
          const history = await begin(world)
          for (const input of commands) await step(history, input)
          await expectSame(history)
        }),
        { numRuns: 30 },
      )
      expect(await world.verify()).toMatchObject({ ok: true })
    },
    { limits },
  )

  contractTest(
    'totals match real counts and the ledger adds up after random parallel commands',
    async (world) => {
      const groups = fc.array(fc.array(command, { minLength: 1, maxLength: 12 }), { minLength: 3, maxLength: 10 })
      await fc.assert(
        fc.asyncProperty(groups, async (rounds) => {
          const userId = await world.createUser(2000)
          const ids = [await world.pending(userId), (await world.processing(userId)).id]
          for (const round of rounds) await Promise.all(round.map((input) => overlap(world, { userId, ids }, input)))
          await expectTrueTotals(world, userId)
        }),
        { numRuns: 30 },
      )
      await world.reopen()
      expect(await world.verify()).toMatchObject({ ok: true })
    },
    { limits: { ...limits, executionsPerMinute: 0, abuseFailures: 0 } },
  )
}

async function overlap(world: StoreWorld, of: { userId: string; ids: string[] }, input: Command): Promise<void> {
  const { store } = world
  const { userId, ids } = of
  if (input.kind === 'admit') {
    const taskId = newId('task', world.clock.now())
    const { agentId, cost } = input
    const meters = input.isMetered ? prices : null
    if ((await world.admit(userId, { taskId, agentId, cost, meters })).outcome === 'accepted') ids.push(taskId)
  } else if (input.kind === 'credit') {
    await store.credit({ userId, amount: input.amount, description: '', idempotencyKey: null })
  } else if ('task' in input) {
    const ref = { taskId: ids[input.task % ids.length]!, attempt: 1 + (input.task % 2) }
    if (input.kind === 'claim') await store.claimTask(ref.taskId)
    if (input.kind === 'complete') {
      const task = await world.read(userId, ref.taskId)
      const usage = task.meters ? { usage: usageWithin(task, input.pages) } : {}
      await store.completeTask({ ...ref, response, ...usage })
    }
    if (input.kind === 'note') await store.noteProgress([{ ...ref, progress: `{"fraction":${input.percent / 100}}` }])
    if (input.kind === 'fail') await store.failTask({ ...ref, error: agentError, countsAsAbuse: false })
    if (input.kind === 'interrupt') await store.interruptTask({ ...ref, error: interrupted, retries: input.retries })
  }
}

async function expectTrueTotals({ store }: StoreWorld, userId: string): Promise<void> {
  const { tasks, total } = await store.listTasks({ userId, ...all })
  expect(total).toBe(tasks.length)
  for (const status of taskStatuses) {
    const found = await store.listTasks({ userId, status, limit: 1, offset: 0 })
    expect(found.total).toBe(tasks.filter((task) => task.status === status).length)
  }
  const { transactions, total: rows } = await store.listTransactions({ userId, ...all })
  expect(rows).toBe(transactions.length)
  const sum = transactions.reduce((balance, { amount }) => balance + amount, 0)
  expect(await store.getAccount(userId)).toMatchObject({ balance: sum })
  for (const { id, status } of tasks) {
    const { cost, givenBack } = (await store.getTask({ userId, taskId: id }))!
    const ofTask = transactions
      .filter(({ taskId }) => taskId === id)
      .map(({ type, amount }) => ({ type, amount: amount + 0 }))
    const refund = { type: 'task_refund', amount: cost }
    const back = { type: 'adjustment', amount: givenBack }
    expect(ofTask).toEqual([
      ...(status === 'failed' ? [refund] : []),
      ...(givenBack > 0 ? [back] : []),
      { type: 'task_charge', amount: 0 - cost - givenBack },
    ])
  }
}
