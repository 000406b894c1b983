import type { SimSession } from './sim-state.ts'
import { capField, drawNewCap } from './chat-caps.ts'
import { usdOfUnits } from './chat-cost.ts'
import { checkTerminal, readToEnd } from './chat-ends.ts'
import type { SimWorld } from './sim-world.ts'

const dayMs = 86_400_000

export async function createSessionStep(world: SimWorld): Promise<void> {
  const { checks, random } = world
  const person = world.person()
  const usedKeys = [...person.sessionKeys.entries()].filter(([, { at }]) => world.now - at < dayMs)
  const repeats = usedKeys.length > 0 && random.chance(0.15) ? random.pick(usedKeys) : undefined
  const key = repeats?.[0] ?? (random.chance(0.2) ? `session-${world.nextNumber()}` : null)
  const isSame = repeats !== undefined && random.chance(0.6)
  const maxCost = random.chance(0.25) ? random.between(0, 4000) : null
  const asked = { agentId: 'sim', metadata: { n: world.nextNumber() }, ...capField(maxCost) }
  const body = isSame ? repeats[1].body : JSON.stringify(asked)
  const { credential, key: apiKey } = world.credentialOf(person)
  const refused = world.model.refusedCredential(person, apiKey, world.now)
  const answer = await world.send({
    kind: 'session',
    method: 'POST',
    path: '/api/sessions',
    credential,
    body: JSON.parse(body),
    ...(key !== null && { headers: { 'Idempotency-Key': key } }),
  })
  if (answer.status === 0) return
  const earlier = repeats && world.state.sessions.get(repeats[1].sessionId)
  const foreseen = refused !== 0 ? refused : repeats && (!isSame || earlier!.isDeleted) ? 409 : 200
  checks.same(answer.status, foreseen, 'the status of a new session')
  if (answer.status !== 200) return
  if (repeats) return checks.same(answer.body.sessionId, earlier!.id, 'a repeated request gets the first session')
  const id: string = answer.body.sessionId
  const at = world.now
  const { metadata } = JSON.parse(body) as { metadata: Record<string, unknown> }
  world.state.sessions.set(id, newSession({ id, userId: person.userId, agentId: 'sim', metadata, maxCost, at }))
  if (key !== null) person.sessionKeys.set(key, { body, sessionId: id, at })
  checks.that(world.audit.reader.session(id) !== undefined, `the accepted session ${id} has its row`)
  world.checkSessionRow(id)
}

type NewSession = Pick<SimSession, 'id' | 'userId' | 'agentId' | 'metadata'> & { at: number; maxCost?: number | null }

export function newSession({ at, maxCost = null, ...of }: NewSession): SimSession {
  const begun = { isCompleted: false, isDeleted: false, messageCount: 0, maxCost, spent: 0 }
  return { ...of, ...begun, updatedAt: at, activeAt: at }
}

function anySession(world: SimWorld): SimSession | undefined {
  const sessions = [...world.state.sessions.values()].slice(-80)
  return sessions.length === 0 ? undefined : world.random.pick(sessions)
}

function statusOf(world: SimWorld, session: SimSession): number {
  if (session.isDeleted) return 404
  return world.model.sessionStatus(session, world.chats.has(session.id), world.now) === 'expired' ? 410 : 200
}

export async function readSessionStep(world: SimWorld, session = anySession(world)): Promise<void> {
  const { checks } = world
  if (!session) return await createSessionStep(world)
  const person = world.model.person(session.userId)
  const { credential, key } = world.credentialOf(person)
  const refused = world.model.refusedCredential(person, key, world.now)
  const path = `/api/sessions/${session.id}`
  const { body, status } = await world.send({ kind: 'read', path, credential })
  checks.same(status, refused !== 0 ? refused : session.isDeleted ? 404 : 200, `the status of a read of ${session.id}`)
  if (status !== 200) return
  const expected = world.model.sessionStatus(session, world.chats.has(session.id), world.now)
  checks.same(
    [body.status, body.messageCount, body.metadata, Date.parse(body.updatedAt)],
    [expected, session.messageCount, session.metadata, session.updatedAt],
    `session ${session.id} as it is read`,
  )
  checks.same(
    [body.maxCostUsd, body.spentUsd],
    [capField(session.maxCost).maxCostUsd, usdOfUnits(session.spent)],
    `the cap of ${session.id} as it is read`,
  )
  const messages = await world.send({ kind: 'read', path: `${path}/messages?limit=100`, credential })
  checks.same(messages.body.total, session.messageCount, `the total of the messages of ${session.id}`)
  checks.same(messages.body.messages.length, Math.min(100, session.messageCount), `the messages of ${session.id}`)
}

export async function listSessionsStep(world: SimWorld): Promise<void> {
  const person = world.person()
  const { credential, key } = world.credentialOf(person)
  const refused = world.model.refusedCredential(person, key, world.now)
  const status = world.random.pick(['active', 'completed', 'expired'] as const)
  const answer = await world.send({ kind: 'list', path: `/api/sessions?status=${status}&limit=1`, credential })
  if (refused !== 0) return world.checks.same(answer.status, refused, 'the status of a list')
  const own = [...world.state.sessions.values()].filter(
    (session) =>
      session.userId === person.userId &&
      !session.isDeleted &&
      world.model.sessionStatus(session, world.chats.has(session.id), world.now) === status,
  )
  world.checks.same(answer.body.total, own.length, `the ${status} sessions of ${person.userId}`)
}

export async function updateSessionStep(world: SimWorld, session = anySession(world)): Promise<void> {
  const { checks, random } = world
  if (!session) return await createSessionStep(world)
  const person = world.model.person(session.userId)
  const { credential, key } = world.credentialOf(person)
  const refused = world.model.refusedCredential(person, key, world.now)
  const status = random.pick([undefined, undefined, 'active', 'completed'] as const)
  const name = random.pick(['a', 'b', 'n'])
  const metadata = status === undefined || random.chance(0.4) ? { [name]: random.pick([null, 1, 'two']) } : undefined
  world.refresh()
  const cap = drawNewCap(world, session)
  const maxCostUsd = cap && (cap.maxCost === null ? null : usdOfUnits(cap.maxCost))
  const body = {
    ...(status !== undefined && { status }),
    ...(metadata && { metadata }),
    ...(maxCostUsd !== undefined && { maxCostUsd }),
  }
  let foreseen = statusOf(world, session)
  if (foreseen === 200 && session.isCompleted && status === 'active') foreseen = 409
  if (foreseen === 200 && cap?.isTooLow) foreseen = 409
  const answer = await world.send({
    kind: 'update',
    method: 'PATCH',
    path: `/api/sessions/${session.id}`,
    credential,
    body,
  })
  checks.same(answer.status, refused === 0 ? foreseen : refused, `the status of an update of ${session.id}`)
  if (answer.status === 200) {
    session.isCompleted ||= status === 'completed'
    if (cap) session.maxCost = cap.maxCost
    const merged = { ...session.metadata, ...metadata }
    session.metadata = Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== null))
    session.updatedAt = world.now
    session.activeAt = world.now
  }
  world.checkSessionRow(session.id)
}

/** Deletes a session and everything in it. A turn in progress is settled first. */
export async function deleteSessionStep(world: SimWorld): Promise<void> {
  const { checks, model } = world
  const held = [...world.chats.values()]
  const inChat =
    held.length > 0 && world.random.chance(0.4)
      ? world.state.sessions.get(world.random.pick(held).sessionId)
      : undefined
  const session = inChat ?? anySession(world)
  if (!session) return await createSessionStep(world)
  const person = model.person(session.userId)
  const { credential, key } = world.credentialOf(person)
  const refused = model.refusedCredential(person, key, world.now)
  const chat = world.chats.get(session.id)
  if (chat && refused === 0) {
    model.expectedTurns.set(session.id, { outcomes: ['truncated'] })
    world.chats.delete(session.id)
  }
  const path = `/api/sessions/${session.id}`
  const answer = await world.send({ kind: 'delete', method: 'DELETE', path, credential })
  checks.same(
    answer.status,
    refused !== 0 ? refused : session.isDeleted ? 404 : 200,
    `the status of a deletion of ${session.id}`,
  )
  if (answer.status !== 200) return
  if (chat) checkTerminal(world, session, await readToEnd(world, chat.reader))
  await world.quiesce()
  session.isDeleted = true
  session.messageCount = 0
  world.checkSessionRow(session.id)
  checks.same((await world.send({ kind: 'read', path, credential })).status, 404, `a read of the deleted ${session.id}`)
}
