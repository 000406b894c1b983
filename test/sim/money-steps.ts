import type { Store } from '../../server/store/store.ts'
import { unitsOfUsd, usdOfUnits } from './chat-cost.ts'
import { simPrices } from './sim-agents.ts'
import { type SimPerson } from './sim-state.ts'
import type { SimWorld } from './sim-world.ts'
import { isOpen } from './task-model.ts'

/**
 * Lets an admin credit or debit a balance, which never falls below the held amount. Each idempotency key takes effect
 * only once.
 */
export async function creditStep(world: SimWorld): Promise<void> {
  const { checks, random } = world
  const poor = world.state.people.filter(({ balance }) => balance < 8000)
  const person = poor.length > 0 && random.chance(0.6) ? random.pick(poor) : world.person()
  const isTaken = random.chance(person.balance > 60_000 ? 0.8 : 0.25)
  const usedKeys = [...person.creditKeys.entries()]
  const repeated = usedKeys.length > 0 && random.chance(0.15) ? random.pick(usedKeys.slice(-20)) : undefined
  let amount = isTaken ? -random.between(1, Math.max(2, person.balance + 500)) : random.between(1, 30_000)
  if (random.chance(0.3)) amount = edgeAmount(world, person) || amount
  if (repeated && random.chance(0.7)) amount = repeated[1].amount
  const key = repeated?.[0] ?? (random.chance(0.3) ? `credit-${world.nextNumber()}` : null)
  if (!repeated) world.model.askCredit(person.userId, amount)
  const answer = await world.send({
    kind: 'credit',
    method: 'POST',
    path: `/api/users/${person.userId}/credit`,
    credential: await world.adminCredential(),
    body: { amountUsd: usdOfUnits(amount), reason: 'A simulated credit' },
    ...(key !== null && { headers: { 'Idempotency-Key': key } }),
  })
  const isRefused = person.balance + amount < person.held
  const foreseen = repeated ? (repeated[1].amount === amount ? 200 : 409) : isRefused ? 400 : 200
  checks.same(
    answer.status,
    foreseen,
    `the status of a credit of ${amount} for ${person.userId} with ${person.balance}, ${person.held} held`,
  )
  if (answer.status !== 200) return
  const { balanceUsd, transactionId } = answer.body
  if (repeated) {
    checks.same(
      [transactionId, unitsOfUsd(balanceUsd)],
      [repeated[1].transactionId, repeated[1].balanceAfter],
      'a repeated credit is the first one',
    )
    return
  }
  world.refresh()
  const row = world.audit.seen.transactions.find(({ id }) => id === transactionId)
  checks.same([row?.amount, person.balance], [amount, unitsOfUsd(balanceUsd)], `the transaction ${transactionId}`)
  if (key !== null) person.creditKeys.set(key, { amount, transactionId, balanceAfter: unitsOfUsd(balanceUsd) })
}

/** Returns an amount after which the free or the total balance just covers a task, or just fails to. */
function edgeAmount({ random }: SimWorld, { balance, held }: SimPerson): number {
  const price = random.pick(Object.values(simPrices))
  return price + random.pick([-1, 0, held - 1, held]) + random.pick([0, held]) - balance
}

export async function unblockStep(world: SimWorld): Promise<void> {
  const blocked = world.state.people.filter((person) => world.model.isBlocked(person, world.now))
  const person = blocked.length > 0 ? world.random.pick(blocked) : world.person()
  await unblock(world, person)
}

export async function unblock(world: SimWorld, person: SimPerson): Promise<void> {
  const wasBlocked = world.model.isBlocked(person, world.now)
  const answer = await world.send({
    kind: 'unblock',
    method: 'POST',
    path: `/api/users/${person.userId}/unblock`,
    credential: await world.adminCredential(),
  })
  world.checks.same(
    [answer.status, answer.body.blockedUntil],
    [200, null],
    `the lifting of a block of ${person.userId}`,
  )
  person.failures = []
  if (wasBlocked) person.blockedUntil = -Infinity
  person.connectorsBlockedUntil = -Infinity
}

/** Suspends or reinstates a person. Suspension takes effect from the next request; accepted work continues. */
export async function suspendStep(world: SimWorld): Promise<void> {
  const suspended = world.state.people.filter(({ isSuspended }) => isSuspended)
  const person = suspended.length > 0 && world.random.chance(0.95) ? world.random.pick(suspended) : world.person()
  await suspend(world, person, !person.isSuspended)
}

export async function suspend(world: SimWorld, person: SimPerson, isSuspended: boolean): Promise<void> {
  const path = `/api/users/${person.userId}`
  const credential = await world.adminCredential()
  const answer = await world.send({ kind: 'suspend', method: 'PATCH', path, credential, body: { isSuspended } })
  world.checks.same([answer.status, answer.body.isSuspended], [200, isSuspended], `the suspension of ${person.userId}`)
  person.isSuspended = isSuspended
  if (isSuspended) for (const login of person.logins) login.hasEnded = true
  const key = person.keys[0]!
  const expected = world.model.refusedCredential(person, key, world.now) || 200
  const next = await world.send({
    kind: 'account',
    path: '/api/account',
    credential: { kind: 'key', token: key.token },
  })
  world.checks.same(next.status, expected, 'the next request after a suspension')
}

/** Checks that a user's credentials cannot change any balance; that takes an admin's browser login. */
export async function forbiddenStep(world: SimWorld): Promise<void> {
  const person = world.person()
  const { credential, key } = world.credentialOf(person)
  const refused = world.model.refusedCredential(person, key, world.now)
  const answer = await world.send({
    kind: 'forbidden',
    method: 'POST',
    path: `/api/users/${person.userId}/credit`,
    credential,
    body: { amountUsd: '1.0000', reason: 'None' },
  })
  world.checks.same(answer.status, refused === 401 ? 401 : 403, 'a credit by a user')
}

export async function verifyStep(world: SimWorld): Promise<void> {
  const report = world.host.store
    ? await world.host.store.verifyLedger()
    : await world.beside((store) => store.verifyLedger())
  world.checks.same(report.differences, [], 'the ledger adds up')
}

/**
 * Makes a command fail halfway. Its writes must be rolled back, and other commands of the same commit must be complete.
 */
async function failInTheMiddle(world: SimWorld, store: Store): Promise<void> {
  const { random, state } = world
  const { userId } = world.person()
  const taken = random.pick([...state.tasks.values()]).id
  const request = { text: '{"n":0}', payloadId: null }
  const of = { userId, agentId: 'sim', endpointId: 'sim.echo', cost: 1, request, connectorIds: null, idempotency: null }
  world.note(`a task under the id of ${taken} for ${userId}`)
  const admissions = Array.from({ length: random.between(1, 3) }, () => store.admitTask({ ...of, taskId: taken }))
  for (const ended of await Promise.allSettled(admissions)) {
    const isAccepted = ended.status === 'fulfilled' && ended.value.outcome === 'accepted'
    world.checks.that(!isAccepted, `a second task ${taken} is not accepted`)
  }
  world.refresh()
}

/** Sends commands for outdated attempts or ended work, which must change nothing. */
export async function staleStep(world: SimWorld): Promise<void> {
  const { checks, random } = world
  const { store } = world.at(world.anyNode()).host
  const tasks = [...world.state.tasks.values()]
  if (!store || tasks.length === 0) return await verifyStep(world)
  await failInTheMiddle(world, store)
  const open = tasks.filter(({ status }) => isOpen(status))
  const { id: taskId } = random.pick(open.length > 0 && random.chance(0.7) ? open : tasks.slice(-50))
  const row = world.audit.reader.task(taskId)!
  const isAtWork = row.status === 'processing' && row.queued === 0
  const attempt = isAtWork ? row.attempt + random.pick([-1, 1]) : row.attempt
  world.note(`stale writes to ${taskId}, attempt ${attempt} of ${row.attempt}, ${row.status}`)
  const error = { code: 'AGENT_ERROR', message: 'A stale attempt.', details: '' }
  const response = { text: '{"stale":true}', payloadId: null }
  checks.same(await store.completeTask({ taskId, attempt, response }), false, `a stale completion of ${taskId}`)
  checks.same(
    await store.failTask({ taskId, attempt, error, countsAsAbuse: true }),
    false,
    `a stale failure of ${taskId}`,
  )
  checks.same(
    await store.interruptTask({ taskId, attempt, error, retries: 9 }),
    'stale',
    `a stale interruption of ${taskId}`,
  )
  if (row.queued === 0) checks.same(await store.claimTask(taskId), undefined, `a second claim of ${taskId}`)
  const settled = [...world.audit.seen.turns.values()].findLast((turn) => turn.settled_at !== null)
  if (!settled) return
  const { breakdown } = world.audit.seen.transactions.findLast((transaction) => transaction.breakdown !== null) ?? {}
  if (breakdown === undefined) return
  const again = {
    turnId: settled.id,
    outcome: 'finished',
    cost: 1,
    breakdown: JSON.parse(breakdown!),
    exchange: null,
  } as const
  checks.same(await store.settleTurn(again), undefined, `a second settlement of ${settled.id}`)
  checks.same(
    await store.growHold({ turnId: settled.id, by: 1, least: 1 }),
    { outcome: 'refused', reason: 'over' },
    `a hold of the settled ${settled.id}`,
  )
}
