import { scopes } from '../../server/store/access/key-types.ts'
import { draftKey } from '../../server/auth/keys/manage-keys.ts'
import { newId } from '../../server/kernel/ids.ts'
import { usdOfUnits } from './chat-cost.ts'
import type { SimCredential } from './sim-client.ts'
import { newKey, type SimKey, type SimPerson, type SimSpend } from './sim-state.ts'
import { createTaskStep, draftTask } from './task-steps.ts'
import type { SimWorld } from './sim-world.ts'

const dayMs = 86_400_000

export async function expectAccess(world: SimWorld, person: SimPerson, key: SimKey): Promise<void> {
  const expected = world.model.refusedCredential(person, key, world.now) || (key.scopes.includes('read') ? 200 : 403)
  const answer = await world.send({
    kind: 'account',
    path: '/api/account',
    credential: { kind: 'key', token: key.token },
  })
  world.checks.same(answer.status, expected, `the access of key ${key.id}`)
}

/** Revokes, rotates or creates keys. Changes take effect from the next request. */
export async function keyStep(world: SimWorld): Promise<void> {
  const { random } = world
  const person = world.person()
  const live = person.keys.filter((key) => !key.isRevoked && (key.expiresAt === null || key.expiresAt > world.now))
  if (live.length === 0) return await giveKey(world, person)
  const full = live.filter((key) => key.scopes.length === scopes.length)
  // The first request makes the service cache the key, so that revoking it has something to invalidate.
  await expectAccess(world, person, random.pick(person.keys))
  const kind = live.length > 6 ? 'revoke' : random.pick(['create', 'revoke', 'rotate'] as const)
  if (kind === 'create' || full.length < 2) return await createKey(world, person)
  if (kind === 'rotate') return await rotateKey(world, person)
  await revokeKey(world, { person, key: random.pick(random.chance(0.8) ? live : person.keys) })
}

/** Returns a credential that may manage keys. A key with limits cannot create keys, and can rotate only itself. */
export function manager(world: SimWorld, person: SimPerson) {
  const { credential, key } = world.credentialOf(person)
  const isLimited = key !== null && key.spend !== null
  return { credential, key, refused: world.model.refusedCredential(person, key, world.now), isLimited }
}

export function drawSpend({ random }: SimWorld): SimSpend | null {
  if (!random.chance(0.35)) return null
  return { amount: random.between(0, 12_000), reset: random.pick(['never', 'day', 'day', 'week', 'month'] as const) }
}

export function spendFields(spend: SimSpend | null): object {
  return spend === null ? {} : { limitUsd: usdOfUnits(spend.amount), limitReset: spend.reset }
}

async function createKey(world: SimWorld, person: SimPerson): Promise<void> {
  const { checks, random } = world
  const own = random.pick([[...scopes], [...scopes], ['read'], ['read', 'execute']])
  const expiresInDays = random.chance(0.3) ? random.between(1, 3) : undefined
  const spend = drawSpend(world)
  const { credential, isLimited, refused } = manager(world, person)
  const of = { ...(expiresInDays !== undefined && { expiresInDays }), ...spendFields(spend) }
  const body = { name: 'simulated', scopes: own, ...of }
  const answer = await world.send({ kind: 'key', method: 'POST', path: '/api/keys', credential, body })
  checks.same(answer.status, refused || (isLimited ? 403 : 200), 'the status of a new key')
  if (answer.status !== 200) return
  const expiresAt = expiresInDays === undefined ? null : world.now + expiresInDays * dayMs
  const { id, key: token } = answer.body
  const key = newKey({ id, token, scopes: own, expiresAt, spend })
  person.keys.push(key)
  await expectAccess(world, person, key)
  if (own.includes('execute')) return
  const asked = draftTask(world, person, 'sim.echo')
  const create = { kind: 'task', method: 'POST', path: '/api/tasks', credential: { kind: 'key', token } as const }
  const task = await world.send({ ...create, body: { endpointId: asked.endpointId, params: asked.params } })
  checks.same(task.status, 403, 'a task by a key that may only read')
}

async function rotateKey(world: SimWorld, person: SimPerson): Promise<void> {
  const { checks, random } = world
  const limited = person.keys.filter((key) => key.spend && !key.isRevoked && !key.isReplaced)
  const old = random.pick(limited.length > 0 && random.chance(0.6) ? limited : person.keys)
  const { credential, isLimited, key: by, refused } = manager(world, person)
  const overlapSeconds = random.pick([0, 60, 86_400])
  const path = `/api/keys/${old.id}/rotate`
  const answer = await world.send({ kind: 'key', method: 'POST', path, credential, body: { overlapSeconds } })
  const isEnded = old.isRevoked || old.isReplaced || (old.expiresAt !== null && old.expiresAt <= world.now)
  // Ended keys are deleted after 90 days.
  if (isEnded && answer.status === 404) return
  const foreseen = isEnded ? 409 : isLimited && by !== old ? 403 : 200
  checks.same(answer.status, refused || foreseen, `the status of a rotation of ${old.id}`)
  if (answer.status !== 200) return
  const { expiresAt, id, key: token } = answer.body
  old.isReplaced = true
  old.expiresAt = Math.min(old.expiresAt ?? Infinity, world.now + overlapSeconds * 1000)
  const life = expiresAt === null ? null : Date.parse(expiresAt)
  const key = newKey({ id, token, scopes: old.scopes, expiresAt: life, spend: old.spend, countsAs: old.countsAs })
  person.keys.push(key)
  await expectAccess(world, person, key)
  await expectAccess(world, person, old)
  // The old and the new key share their spending.
  if (key.scopes.includes('execute'))
    await createTaskStep(world, { person, by: { credential: { kind: 'key', token }, key } })
}

export async function revokeKey(world: SimWorld, { key, person }: { key: SimKey; person: SimPerson }): Promise<void> {
  const { credential, refused } = manager(world, person)
  const answer = await world.send({ kind: 'key', method: 'DELETE', path: `/api/keys/${key.id}`, credential })
  if (answer.status === 404 && key.isRevoked) return
  world.checks.same(answer.status, refused || 200, `the status of a revocation of ${key.id}`)
  if (answer.status === 200) key.isRevoked = true
  await expectAccess(world, person, key)
  const left = person.keys.filter(
    (other) => other.scopes.length === scopes.length && !other.isRevoked && other.expiresAt === null,
  )
  if (left.length === 0 && !person.isSuspended) await giveKey(world, person)
}

export async function giveKey(world: SimWorld, person: SimPerson): Promise<void> {
  const { key, token } = draftKey({ userId: person.userId, name: 'given', scopes: [...scopes], expiresAt: null })
  const { id } = await world.beside((store) => store.createKey(key))
  person.keys.push(newKey({ id, token, scopes: [...scopes], expiresAt: null }))
}

/** Logs in, acts and logs out. The cookie then stops working. */
export async function loginStep(world: SimWorld): Promise<void> {
  const { checks, random } = world
  const person = world.person()
  const live = person.logins.filter(({ hasEnded }) => !hasEnded)
  if (live.length > 0 && random.chance(0.5)) return await logoutStep(world, person)
  const isRight = random.chance(0.8)
  const body = { email: person.email, password: isRight ? person.password : 'not the password at all' }
  const headers = { Origin: world.origin, 'Sec-Fetch-Site': 'same-origin' }
  const answer = await world.send({ kind: 'login', method: 'POST', path: '/api/login', body, headers })
  if (answer.status === 429) return
  checks.same(
    answer.status,
    isRight ? (person.isSuspended ? 403 : 200) : 401,
    `the status of a login of ${person.userId}`,
  )
  if (answer.status !== 200) return
  const token = /errand=([^;]+)/.exec(String(answer.headers['set-cookie']))?.[1] ?? ''
  person.logins.push({ token, createdAt: world.now, usedAt: world.now, hasEnded: false })
  const next = await world.send({ kind: 'account', path: '/api/account', credential: { kind: 'login', token } })
  checks.same([next.status, next.body.userId], [200, person.userId], 'the first request of a login')
}

async function logoutStep(world: SimWorld, person: SimPerson): Promise<void> {
  const { checks, random } = world
  const login = random.pick(person.logins)
  const credential: SimCredential = { kind: 'login', token: login.token }
  const age = world.now - login.createdAt
  const answer = await world.send({ kind: 'logout', method: 'POST', path: '/api/logout', credential })
  if (login.hasEnded || age >= 30 * dayMs || world.now - login.usedAt > 8 * dayMs)
    checks.same(answer.status, 401, 'a logout of what has ended')
  else if (age < 6 * dayMs) checks.same(answer.status, 200, 'the status of a logout')
  login.hasEnded = true
  const next = await world.send({ kind: 'account', path: '/api/account', credential })
  checks.same(next.status, 401, 'the next request after a logout')
}

type Probe = {
  path: string
  id: string
  unknown: string
  method?: string
  end?: string
  body?: (id: string) => unknown
}

/** Checks that another user's id gets the same response as an unknown id. */
export async function foreignStep(world: SimWorld): Promise<void> {
  const { random } = world
  const person = world.person()
  const other = random.pick(world.state.people.filter((somebody) => somebody !== person))
  const task = [...world.state.tasks.values()].findLast(({ asked }) => asked.userId === other.userId)
  const session = [...world.state.sessions.values()].findLast((of) => of.userId === other.userId && !of.isDeleted)
  const probes: Probe[] = [
    ...(task ? [{ path: '/api/tasks/', id: task.id, unknown: newId('task', world.now) }] : []),
    ...(session
      ? [
          { path: '/api/sessions/', id: session.id, unknown: newId('ses', world.now) },
          { path: '/api/sessions/', id: session.id, unknown: newId('ses', world.now), end: '/messages' },
          { path: '/api/sessions/', id: session.id, unknown: newId('ses', world.now), method: 'DELETE' },
          {
            path: '/api/sessions/',
            id: session.id,
            unknown: newId('ses', world.now),
            method: 'PATCH',
            body: () => ({ status: 'completed' }),
          },
          {
            path: '/api/chat',
            id: session.id,
            unknown: newId('ses', world.now),
            method: 'POST',
            body: (sessionId: string) => ({ sessionId, message: 'Hello' }),
          },
        ]
      : []),
    { path: '/api/keys/', id: other.keys[0]!.id, unknown: newId('key', world.now), method: 'DELETE' },
    {
      path: '/api/keys/',
      id: other.keys[0]!.id,
      unknown: newId('key', world.now),
      method: 'POST',
      end: '/rotate',
      body: () => ({}),
    },
  ]
  const { body, end = '', id, method = 'GET', path, unknown } = random.pick(probes)
  const { credential } = world.credentialOf(person)
  const ask = (asked: string) =>
    world.send({
      kind: 'foreign',
      method,
      path: path.endsWith('/') ? path + asked + end : path,
      credential,
      ...(body !== undefined && { body: body(asked) }),
      headers: { Accept: 'application/json' },
    })
  const [foreign, random404] = [await ask(id), await ask(unknown)]
  world.checks.same(
    [foreign.status, foreign.body],
    [random404.status, random404.body],
    `${method} ${path}${end} of another user's`,
  )
  world.checks.that(foreign.status >= 400, 'what is another user’s is refused')
  if (session) world.checkSessionRow(session.id)
}

export async function strangerStep(world: SimWorld): Promise<void> {
  const answers = await Promise.all(
    ['/api/account', '/api/tasks', '/api/sessions', '/api/keys', '/api/transactions', '/api/users'].map((path) =>
      world.send({
        kind: 'stranger',
        path,
        credential: world.random.pick([null, { kind: 'key', token: 'errand_sk_none' }] as const),
      }),
    ),
  )
  for (const { status } of answers) world.checks.same(status, 401, 'a request without a credential')
}
