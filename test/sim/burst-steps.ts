import { simPrices, type ChatStep } from './sim-agents.ts'
import { ampleUnits, isLimitedBy } from './chat-caps.ts'
import { unitsOfUsd } from './chat-cost.ts'
import { finishingScript } from './chat-scripts.ts'
import { checkLines, checkTerminal, readToEnd } from './chat-ends.ts'
import { openChat } from './chat-steps.ts'
import { checkReadAgain, leaveChat, statelessOnce, type LeftTurn } from './detached-steps.ts'
import { happen } from './payment-steps.ts'
import { checkKept, crash } from './restart-steps.ts'
import type { SimAnswer } from './sim-client.ts'
import type { KnownEvent } from './sim-payments.ts'
import type { SimKey, SimPerson, SimSession } from './sim-state.ts'
import { bodyOf, checkAccepted, draftTask, sendTask } from './task-steps.ts'
import type { SimWorld } from './sim-world.ts'

// Concurrent requests. The service decides their order, but their total effect is predictable.

/**
 * Creates many tasks with the same price while the person has no other work in progress. Balance and rate limit
 * determine the exact number of successes.
 */
export async function countedBurst(world: SimWorld): Promise<number> {
  const { checks, model, random } = world
  await world.quiesce()
  const person = world.person()
  const endpointId = random.pick(['sim.echo', 'sim.dear', 'sim.free'] as const)
  const count = random.between(8, 25)
  const now = world.now
  const price = simPrices[endpointId]
  const left = Math.min(person.balance - person.held, model.leftOf({ person, key: goodKey(world, person) }, now))
  const affordable = price === 0 ? count : Math.max(0, Math.floor(left / price))
  const isOpen = !person.isSuspended && !model.isBlocked(person, now) && person.owed === 0
  const expected = isOpen ? Math.min(count, 10 - model.used(person, now), affordable) : 0
  world.note(`${count} creates of ${endpointId} for ${person.userId} at once: ${expected} are to succeed`)
  const asked = Array.from({ length: count }, () => ({ ...draftTask(world, person, endpointId), key: null }))
  const answers = await Promise.all(asked.map((one) => sendTaskGood(world, one, person)))
  const accepted = answers.filter(({ status }) => status === 200)
  checks.same(accepted.length, expected, `accepted creates of ${count} for ${person.userId}`)
  for (const answer of accepted) checkAccepted(world, answer)
  await world.quiesce()
  return count
}

/** Sends the request with a valid key, so that only balance and limits decide. */
function sendTaskGood(world: SimWorld, asked: ReturnType<typeof draftTask>, person: SimPerson): Promise<SimAnswer> {
  const key = goodKey(world, person)
  world.model.sent(asked, { person, key }, world.now)
  const { token } = key
  return world.send({
    kind: 'task',
    method: 'POST',
    path: '/api/tasks',
    credential: { kind: 'key', token },
    body: bodyOf(asked),
  })
}

function goodKey(world: SimWorld, { keys }: SimPerson): SimKey {
  const works = keys.find(
    (key) => !key.isRevoked && key.scopes.length === 3 && (key.expiresAt === null || key.expiresAt > world.now),
  )
  return works ?? keys[0]!
}

/** Causes about as many failures as an abuse block takes, and checks whether the next request is rejected. */
export async function failuresBurst(world: SimWorld): Promise<number> {
  const { checks, model, random } = world
  await world.quiesce()
  const person = world.person()
  const recent = person.failures.filter((at) => world.now - at < 590_000).length
  const count = Math.max(1, 10 - recent - random.between(0, 2) + random.between(0, 1))
  if (person.isSuspended || person.held > 0 || person.balance < 5000) return 0
  if (model.used(person, world.now) + count > 10) await world.host.moveTime(60_000, 0)
  world.note(`${count} failing tasks of ${person.userId}, who has ${recent} failures`)
  for (let n = 0; n < count; n++) {
    const asked = { ...draftTask(world, person, random.pick(['sim.fail', 'sim.failfree'])), key: null }
    const foreseen = model.foreseeTask(asked, { person, key: goodKey(world, person) }, world.now)
    const answer = await sendTaskGood(world, asked, person)
    if (answer.status !== 401) checks.same(answer.status, foreseen.status, `failing task ${n + 1} of ${count}`)
    await world.quiesce()
  }
  return count
}

/**
 * Sends one request several times in parallel, mixed with other requests that reuse its idempotency key. Expects at
 * most one task and one charge.
 */
export async function repeatedBurst(world: SimWorld): Promise<number> {
  const { checks, random } = world
  await world.quiesce()
  const person = world.person()
  const key = `burst-${world.nextNumber()}`
  const count = random.between(4, 12)
  const one = { ...draftTask(world, person, 'sim.echo'), key }
  const other = { ...draftTask(world, person, 'sim.echo'), key }
  world.note(`${count} requests with the key ${key} at once`)
  const answers = await Promise.all(
    Array.from({ length: count }, () => sendTask(world, random.chance(0.8) ? one : other, person)),
  )
  const ids = new Set(answers.filter(({ status }) => status === 200).map(({ body }) => body.taskId as string))
  checks.that(ids.size <= 1, `one key made ${ids.size} tasks`)
  await world.quiesce()
  return count
}

export async function chatBurst(world: SimWorld): Promise<number> {
  const { checks, model, random } = world
  await world.quiesce()
  const person = world.person()
  const usable = [...world.state.sessions.values()].filter(
    (session) =>
      session.userId === person.userId &&
      !session.isDeleted &&
      model.sessionStatus(session, world.chats.has(session.id), world.now) === 'active' &&
      !world.chats.has(session.id),
  )
  if (usable.length === 0) return 0
  const sessions = usable.slice(-random.between(1, 6))
  const visits = [...sessions, ...(random.chance(0.5) ? [sessions[0]!] : [])]
  world.note(`${visits.length} chats of ${person.userId} at once`)
  const planned = visits.map((session) => ({ session, leaves: random.chance(0.25) }))
  // A reply fails and is free if its reader leaves before the agent starts, or if the balance does not cover the first
  // words.
  const isPoor = person.balance - person.held < ampleUnits * visits.length
  const isShort = isPoor || [null, ...person.keys].some((key) => isLimitedBy(world, { person, key }))
  for (const session of sessions) {
    const mayFail = isShort || session.maxCost !== null || planned.some((one) => one.session === session && one.leaves)
    model.expectedTurns.set(session.id, {
      outcomes: ['finished', 'truncated', ...(mayFail ? ['failed' as const] : [])],
    })
  }
  await Promise.all(planned.map((one) => visit(world, one, visits.length)))
  await world.quiesce()
  checks.same(world.audit.seen.openTurns.size, world.chats.size, 'open turns after a burst of chats')
  for (const { id } of sessions) world.checkSessionRow(id)
  return visits.length
}

type Visit = { session: SimSession; leaves: boolean }

async function visit(world: SimWorld, { leaves, session }: Visit, others: number): Promise<void> {
  const { checks } = world
  const { steps } = finishingScript(world)
  const { reader, status } = await openChat(world, session, { steps })
  checks.that([200, 401, 403, 409, 429].includes(status), `a chat of ${others} at once got ${status}`)
  if (status !== 200) return
  if (leaves) return reader!.leave()
  const terminal = await readToEnd(world, reader!)
  if (others === 1) checkTerminal(world, session, terminal)
}

/** Sends requests of every kind in parallel for all people. With `crashes` the service crashes midway. */
export async function mixedBurst(world: SimWorld, crashes = false): Promise<number> {
  const { checks, model, random } = world
  await world.quiesce()
  const count = random.between(10, 30)
  world.note(`${count} requests at once${crashes ? ', and a crash' : ''}`)
  const accepted: SimAnswer[] = []
  const kept: KnownEvent[] = []
  const left: LeftTurn[] = []
  for (const topup of [...world.state.topups.values()].slice(-5)) happen(world, topup)
  const told = [...world.payments.unsent, ...world.payments.told.slice(-10)]
  const sessions = idleSessions(world).slice(-4)
  for (const { id } of sessions) model.expectedTurns.set(id, { outcomes: ['finished', 'truncated', 'failed'] })
  const credential = await world.adminCredential()
  const one = async () => {
    const kind = random.pick([
      'task',
      'task',
      'task',
      'task',
      'credit',
      'payment',
      'payment',
      'read',
      'chat',
      'leave',
      'alone',
    ] as const)
    if (kind === 'task') {
      const asked = draftTask(world, world.person())
      const answer = await sendTask(world, asked, model.person(asked.userId))
      if (answer.status === 200) accepted.push(answer)
      checks.that([0, 200, 401, 403, 429, 503].includes(answer.status), `a task got ${answer.status}`)
    } else if (kind === 'credit') {
      const body = { amountUsd: random.pick(['0.5000', '-0.3000', '1.2345']), reason: 'A burst' }
      const { userId } = world.person()
      model.askCredit(userId, unitsOfUsd(body.amountUsd))
      const path = `/api/users/${userId}/credit`
      const { status } = await world.send({ kind, method: 'POST', path, credential, body })
      checks.that([0, 200, 400, 503].includes(status), `a credit got ${status}`)
    } else if (kind === 'payment' && told.length > 0) {
      const event = random.pick(told)
      if ((await world.payments.send(event)) === 200) kept.push(event)
    } else if (kind === 'chat' && sessions.length > 0) {
      await chatOnce(world, random.pick(sessions))
    } else if (kind === 'leave' && sessions.length > 0) {
      const turn = await leaveChat(world, random.pick(sessions))
      if (turn) left.push(turn)
    } else if (kind === 'alone') {
      await statelessOnce(world, world.person())
    } else {
      await world.send({
        kind: 'read',
        path: '/api/account',
        credential: world.credentialOf(world.person()).credential,
      })
    }
  }
  const all = Promise.all(Array.from({ length: count }, one))
  // Avoids an unhandled rejection during the crash. The `await` below rethrows it.
  all.catch(() => {})
  if (crashes) {
    for (let turns = random.between(0, 40); turns > 0; turns--) await new Promise(setImmediate)
    await crash(world)
  }
  await all
  for (const { body } of accepted)
    checks.that(
      world.audit.seen.tasks.has(body.taskId) || isThere(world, body.taskId),
      `the accepted task ${body.taskId} is there`,
    )
  await world.quiesce()
  if (crashes) checkKept(world)
  for (const event of kept) world.payments.checkKept(event)
  for (const turn of left) await checkReadAgain(world, turn, { isLost: crashes })
  model.sentAlone.clear()
  for (const { id } of sessions) world.checkSessionRow(id)
  return count
}

function isThere(world: SimWorld, taskId: string): boolean {
  return world.audit.reader.task(taskId) !== undefined
}

/** Returns the sessions without a chat in progress. */
function idleSessions(world: SimWorld): SimSession[] {
  return [...world.state.sessions.values()].filter(
    (session) => session.agentId === 'sim' && !session.isDeleted && !world.chats.has(session.id),
  )
}

async function chatOnce(world: SimWorld, session: SimSession): Promise<void> {
  const steps: ChatStep[] = world.random.chance(0.2)
    ? [{ do: 'text', delta: 'broken ' }, { do: 'throw' }]
    : finishingScript(world).steps
  const { client, reader, status } = await openChat(world, session, { steps })
  world.checks.that([0, 200, 401, 403, 404, 409, 410, 429, 503].includes(status), `a chat got ${status}`)
  if (reader && status === 200) {
    const lines = await reader.all()
    if (!client.isDown && !(await reader.wasCutOff())) checkLines(world, lines)
  }
}

/** Revokes a key in use. The service must reject every request sent after the response to that. */
export async function revokedBurst(world: SimWorld): Promise<number> {
  const { checks } = world
  const person = world.person()
  const [first, second] = person.keys.filter(
    (key) => !key.isRevoked && key.scopes.length === 3 && key.expiresAt === null,
  )
  if (!first || !second || person.isSuspended) return 0
  const credential = { kind: 'key', token: second.token } as const
  const use = () => world.send({ kind: 'account', path: '/api/account', credential })
  const during = Array.from({ length: 6 }, use)
  const path = `/api/keys/${second.id}`
  const revoked = await world.send({
    kind: 'key',
    method: 'DELETE',
    path,
    credential: { kind: 'key', token: first.token },
  })
  checks.same(revoked.status, 200, 'a revocation')
  second.isRevoked = true
  const after = await Promise.all(Array.from({ length: 6 }, use))
  for (const { status } of after) checks.same(status, 401, 'a request after a revocation')
  for (const { status } of await Promise.all(during))
    checks.that(status === 200 || status === 401, `a request got ${status}`)
  return 13
}
