import { simPrices, type SimEndpoint } from './sim-agents.ts'
import { unitsOfUsd, usdOfUnits } from './chat-cost.ts'
import type { SimAnswer } from './sim-client.ts'
import { firstCharacters } from './row-audit.ts'
import type { TaskRow } from './audit-rows.ts'
import { minuteMs } from './sim-model.ts'
import { type AskedTask, type SimPerson, type SimLink, type SimTask } from './sim-state.ts'
import type { SimWorld } from './sim-world.ts'
import { endOf, pickTokens, responseOf } from './task-model.ts'

const kinds: Record<SimEndpoint, number> = {
  'sim.echo': 30,
  'sim.free': 6,
  'sim.dear': 8,
  'sim.fail': 15,
  'sim.failfree': 3,
  'sim.size': 10,
  'sim.held': 9,
  'sim.retried': 7,
  'sim.slow': 0,
  'sim.tools': 0,
  'sim.patient': 0,
  'sim.metered': 12,
  'priced.write': 8,
}
const inlineBytes = 16_384
const fillers = ['x', 'é', '€', '😀', '"', '\n'] as const

/** Returns the parts of a string whose JSON has about `around` bytes. */
function sizes(world: SimWorld, around: number): { lead: string; of: string; times: number } {
  const { random } = world
  const of = random.pick(fillers)
  const bytes = Buffer.byteLength(JSON.stringify(of)) - 2
  const lead = 'a'.repeat(random.between(0, 8))
  return { lead, of, times: Math.max(0, Math.round(around / bytes) + random.between(-3, 3)) }
}

export function draftTask(world: SimWorld, person: SimPerson, endpointId?: SimEndpoint): AskedTask {
  const { random } = world
  const kind = endpointId ?? random.weighted(kinds)
  const n = world.nextNumber()
  const params: Record<string, unknown> = { n }
  let gate: string | null = null
  if (kind === 'sim.metered') {
    Object.assign(params, { pages: random.between(0, 200), figures: random.between(0, 4) })
  }
  if (kind === 'priced.write') {
    const tokens = { input: random.between(1, 9000), output: random.between(1, 500) }
    Object.assign(params, { ...tokens, isDown: random.chance(0.4) })
  }
  if (kind === 'sim.held' || kind === 'sim.retried' || (kind === 'sim.metered' && random.chance(0.5))) {
    gate = `${world.seed}-task-${n}`
    params['gate'] = gate
  } else if (kind === 'sim.size') {
    // The response is `{"text":"…"}`, which adds 11 bytes to the text.
    const around = random.chance(0.7) ? inlineBytes - 11 : random.pick([200, 1024, 30_000])
    Object.assign(params, sizes(world, around))
  } else if (kind === 'sim.echo' && random.chance(0.15)) {
    const { lead, of, times } = sizes(world, inlineBytes - `{"n":${n},"text":""}`.length)
    params['text'] = lead + of.repeat(times)
  }
  const key = random.chance(0.12) ? `key-${random.between(1, 400)}-${n}` : null
  const tags = tagsOf(n)
  const body = JSON.stringify({ endpointId: kind, params, tags })
  return { n, userId: person.userId, endpointId: kind, params, tags, key, body, gate, countedIn: new Set() }
}

/** Returns the tags of the nth task. Every third task has none. */
function tagsOf(n: number): AskedTask['tags'] {
  return n % 3 === 0 ? undefined : { third: `${n % 3}`, 'a.quote': `"${n % 2}":"` }
}

export function bodyOf({ endpointId, params, tags, timeoutSeconds, tools }: AskedTask): Record<string, unknown> {
  const options = { ...(tools && { connectorIds: [tools.connectorId] }), ...(timeoutSeconds && { timeoutSeconds }) }
  return { endpointId, params, ...(tags && { tags }), ...options }
}

export function sendTask(world: SimWorld, asked: AskedTask, person: SimPerson): Promise<SimAnswer> {
  const { credential, key } = world.credentialOf(person)
  world.model.sent(asked, { person, key }, world.now)
  return world.send({
    kind: 'task',
    method: 'POST',
    path: '/api/tasks',
    credential,
    body: bodyOf(asked),
    ...(asked.key !== null && { headers: { 'Idempotency-Key': asked.key } }),
  })
}

/** Sends one task request and expects the predicted response, including repeats and conflicts of idempotency keys. */
export async function createTaskStep(
  world: SimWorld,
  of: { person?: SimPerson; asked?: AskedTask; by?: ReturnType<SimWorld['credentialOf']> } = {},
): Promise<void> {
  const { checks, model } = world
  const { person = world.person() } = of
  const { asked = askedTask(world, person), by = world.credentialOf(person) } = of
  const { credential, key } = by
  const now = world.now
  model.sent(asked, { person, key }, now)
  const refused = model.refusedCredential(person, key, now)
  const foreseen = refused === 0 ? model.foreseeTask(asked, { person, key }, now) : { status: refused }
  const answer = await world.send({
    kind: 'task',
    method: 'POST',
    path: '/api/tasks',
    credential,
    body: { ...bodyOf(asked), ...(asked.key === null && claims(world)) },
    ...(asked.key !== null && { headers: { 'Idempotency-Key': asked.key } }),
  })
  checks.same(answer.status, foreseen.status, `the status of ${asked.endpointId} for ${person.userId}`)
  if ('error' in foreseen) checks.same(answer.body.error, foreseen.error, 'the reason of a refusal')
  if (foreseen.status === 403 && answer.body.error === 'Insufficient balance') {
    const { balance, held, owed } = person
    const message: string = answer.body.message
    const cost = simPrices[asked.endpointId]
    const isHeld = owed === 0 && balance >= cost
    const stated = owed > 0 ? [owed] : [balance, isHeld ? held : cost]
    checks.that(
      stated.every((units) => message.includes(usdOfUnits(units))),
      `"${message}" states balance and cost or hold, or what is owed`,
    )
    checks.same(answer.headers['retry-after'], isHeld ? '5' : undefined, 'the Retry-After of a refusal for balance')
  }
  if (refused === 0) checkRate(world, person, answer)
  if (answer.status === 200) checkAccepted(world, answer, 'replays' in foreseen ? foreseen.replays : undefined)
}

/**
 * Returns fields with which a client might try to change who pays and how much. The service must ignore all of them.
 */
function claims(world: SimWorld): Record<string, unknown> {
  if (!world.random.chance(0.1)) return {}
  const { userId } = world.person()
  return { userId, costUsd: '0.0000', priceUsd: '-1.0000', status: 'completed', balanceUsd: '9.0000', isAdmin: true }
}

/** Returns a new request, or an earlier one: unchanged, or with another body under the same idempotency key. */
function askedTask(world: SimWorld, person: SimPerson): AskedTask {
  const { random } = world
  const used = [...person.taskKeys.entries()]
  if (used.length === 0 || !random.chance(0.12)) return draftTask(world, person)
  const [key, { taskId }] = random.pick(used.slice(-20))
  const earlier = world.state.tasks.get(taskId)!.asked
  if (random.chance(0.7)) return earlier
  const other = draftTask(world, person, 'sim.echo')
  return { ...other, key }
}

/** Checks that the task was durable before the response. */
export function checkAccepted(world: SimWorld, { body }: SimAnswer, replays?: string): void {
  const { checks } = world
  world.refresh()
  checks.that(world.audit.seen.tasks.has(body.taskId), `the accepted task ${body.taskId} has its row`)
  checks.same(body.status, 'pending', 'the status of a new task')
  if (replays !== undefined) checks.same(body.taskId, replays, 'a repeated request gets the first task')
}

/** Checks the rate limit headers against the accepted executions. */
function checkRate(world: SimWorld, person: SimPerson, { headers, status }: SimAnswer): void {
  const { checks, model } = world
  world.refresh()
  const used = model.used(person, world.now)
  checks.same(
    headers['x-ratelimit-remaining'],
    String(Math.max(0, 10 - used)),
    `X-RateLimit-Remaining of ${person.userId}`,
  )
  if (status === 429) checks.that(Number(headers['retry-after']) >= 1, 'a 429 says when to come again')
}

export async function releaseStep(world: SimWorld): Promise<void> {
  const held = world.openTasks().map((id) => world.state.tasks.get(id)!)
  const waiting = held.filter(({ asked }) => asked.gate !== null && !world.model.gateEnds.has(asked.gate))
  if (waiting.length === 0) return await createTaskStep(world)
  const { asked } = world.random.pick(waiting)
  const end = world.random.pick(['ok', 'ok', 'fail'] as const)
  world.note(`release ${asked.gate} ${end}`)
  await world.openGate(asked.gate!, end)
  await world.quiesce()
}

/**
 * Cancels a task that waits at its gate, sometimes twice in parallel. The response must already show state and refund.
 */
export async function cancelStep(world: SimWorld): Promise<void> {
  const { checks, model, random } = world
  const held = world.openTasks().map((id) => world.state.tasks.get(id)!)
  const waiting = held.filter(({ asked }) => asked.gate !== null && !model.gateEnds.has(asked.gate))
  if (waiting.length === 0) return await createTaskStep(world)
  const task = random.pick(waiting)
  const { credential, key } = world.credentialOf(model.person(task.asked.userId))
  const refused = model.refusedCredential(model.person(task.asked.userId), key, world.now)
  // Only the row shows whether the cancellation or the first charged event came first.
  const mayBeTooLate = Object.keys(endOf(task.asked).usage ?? {}).length > 0
  if (refused === 0) task.isCanceled = true
  const cancel = () => world.send({ kind: 'cancel', method: 'POST', path: `/api/tasks/${task.id}/cancel`, credential })
  const answers = await Promise.all(random.chance(0.3) ? [cancel(), cancel()] : [cancel()])
  const isTooLate = refused === 0 && mayBeTooLate && answers[0].status === 409
  for (const { body, status } of answers) {
    checks.same(status, isTooLate ? 409 : refused === 0 ? 200 : refused, `the status of a cancel of ${task.id}`)
    if (isTooLate) checks.same(body.code, 'CONFLICT', `the refusal of a cancel of ${task.id}`)
    else if (refused === 0)
      checks.same([body.id, body.status, body.error.code], [task.id, 'failed', 'CANCELED'], 'what is canceled')
  }
  world.refresh()
  if (isTooLate) {
    task.isCanceled = false
    checks.that(world.audit.seen.tasks.get(task.id)!.cancelable_until !== null, `${task.id} cannot be canceled`)
  } else if (refused === 0) checks.same(task.errorCode, 'CANCELED', `how ${task.id} ended`)
  await world.quiesce()
}

/** Runs a task with an agent that never ends and ignores its signal, until it times out. */
export async function slowTaskStep(world: SimWorld): Promise<void> {
  const { checks, model } = world
  const person = world.person()
  const free = world.openTasks().length < 5 && !world.isAtLimit(person)
  const asked = draftTask(world, person, 'sim.slow')
  const isRefused = model.foreseeTask(asked, { person, key: null }, world.now).status !== 200
  if (!free || isRefused || person.isSuspended) return await createTaskStep(world)
  const answer = await sendTask(world, { ...asked, key: null }, person)
  if (answer.status !== 200) return
  // The timeout plus five seconds, doubled for a busy machine.
  await world.quiesce(12_000)
  checks.same(world.state.tasks.get(answer.body.taskId)?.errorCode, 'AGENT_TIMEOUT', 'how an endless task ends')
}

export async function readTaskStep(world: SimWorld): Promise<void> {
  const { checks, random } = world
  const person = world.person()
  const own = [...world.state.tasks.values()].filter(({ asked }) => asked.userId === person.userId)
  const { credential, key } = world.credentialOf(person)
  const refused = world.model.refusedCredential(person, key, world.now)
  if (own.length === 0) return await createTaskStep(world)
  const task = random.chance(0.7) ? random.pick(own.slice(-30)) : random.pick(own)
  const answer = await world.send({ kind: 'read', path: `/api/tasks/${task.id}`, credential })
  checks.same(answer.status, refused === 0 ? 200 : refused, `the status of a read of ${task.id}`)
  if (refused !== 0) return
  const row = world.audit.seen.tasks.get(task.id)!
  const { body } = answer
  checks.same(
    [body.id, body.userId, body.endpointId, body.request !== undefined],
    [task.id, person.userId, row.endpoint_id, true],
    `task ${task.id} as it is read`,
  )
  checkRun(world, { task, row, body })
  if (row.completed_at !== null) checks.same(body.status, row.status, `the status of ${task.id}`)
  await readPayload(world, { task, body, field: 'request' })
  if (body.status === 'completed') await readPayload(world, { task, body, field: 'response' })
}

type ReadRun = { task: SimTask; row: TaskRow; body: Record<string, any> }

/** Checks price and progress in a response, and the charge and final usage of a metered task. */
function checkRun({ checks }: SimWorld, { body, row, task }: ReadRun): void {
  const { endpointId, params } = task.asked
  const most = usdOfUnits(simPrices[endpointId])
  const { cost, tokens, usage } = endOf(task.asked)
  const isBounded = usage !== undefined || tokens !== undefined
  const isDone = body['status'] === 'completed'
  const refunded = body['status'] === 'failed' ? simPrices[endpointId] : isDone ? simPrices[endpointId] - cost : 0
  checks.same(body['refundedUsd'], usdOfUnits(refunded), `what was refunded of ${task.id}`)
  checks.same(body['costUsd'], isDone ? usdOfUnits(cost) : most, `the cost of ${task.id}`)
  if (row.completed_at !== null) checks.same(body['costUsd'], usdOfUnits(row.cost), `the cost of ${task.id} in its row`)
  checks.same(body['maxCostUsd'], isBounded ? most : undefined, `the most that ${task.id} costs`)
  checks.same(body['usage'], isDone ? usage : undefined, `the usage of ${task.id}`)
  const told = body['tokens'] && { ...tokens, ...pickTokens(body['tokens'] as Record<string, unknown>) }
  checks.same(told, isDone ? tokens : undefined, `the tokens of ${task.id}`)
  if (isDone && isBounded)
    checks.same(body['givenBackUsd'], usdOfUnits(simPrices[endpointId] - cost), `the rest of ${task.id}`)
  const tells = usage !== undefined && Number(params['pages']) > 0 && isDone
  if (tells || (body['progress'] !== undefined && !tokens)) {
    checks.same(body['progress']?.data, { n: params['n'] }, `the progress of ${task.id}`)
  }
}

type ReadPayload = { task: SimTask; body: Record<string, unknown>; field: 'request' | 'response' }

async function readPayload(world: SimWorld, { body, field, task }: ReadPayload): Promise<void> {
  const { checks, random } = world
  const whole = field === 'request' ? task.asked.params : responseOf(task.asked)
  const json = JSON.stringify(whole)
  const uri = body[`${field}Uri`] as string | undefined
  const what = `the ${field} of ${task.id}`
  checks.same(uri !== undefined, Buffer.byteLength(json) > inlineBytes, `${what} has a link when it is large`)
  if (uri === undefined) return checks.same(JSON.stringify(body[field]), json, what)
  checks.same(body[field], firstCharacters(json, 1024), `the preview of ${what}`)
  const download = await world.send({ kind: 'payload', path: uri })
  checks.same([download.status, download.text === json], [200, true], `the download of ${what}`)
  world.state.links.push({
    userId: task.asked.userId,
    url: uri,
    expiresAt: (Math.floor(world.now / 1000) + 3600) * 1000,
    json,
  })
  if (world.state.links.length > 40) world.state.links.shift()
  const at = random.between(1, 40)
  const other = uri.at(-at) === 'A' ? 'B' : 'A'
  const tampered = await world.send({
    kind: 'payload',
    path: uri.slice(0, uri.length - at) + other + uri.slice(uri.length - at + 1),
  })
  checks.same(tampered.status, 403, `a changed link of ${what}`)
}

/** Checks that a signed link serves its payload until it expires, even after restarts. */
export async function linkStep(world: SimWorld, link?: SimLink): Promise<void> {
  const { links } = world.state
  if (!link && links.length === 0) return await readTaskStep(world)
  const { expiresAt, isErased = false, json, url } = link ?? world.random.pick(links)
  const { pathname, search } = new URL(url)
  const answer = await world.send({ kind: 'payload', path: pathname + search })
  const served = isErased ? 404 : 200
  world.checks.same(answer.status, expiresAt > world.now ? served : 403, 'the status of a link')
  if (answer.status === 200) world.checks.that(answer.text === json, 'a link serves its own object')
}

/** Lists tasks by status, tag, time or without a filter, then follows the cursor to the next page. */
export async function listTasksStep(world: SimWorld): Promise<void> {
  const { audit, checks, model, now, random } = world
  const person = world.person()
  const { credential, key } = world.credentialOf(person)
  const refused = model.refusedCredential(person, key, now)
  const status = random.pick(['', 'completed', 'failed'] as const)
  const tag = random.pick(['', 'third:1', 'a.quote:"1":"'])
  const since = random.chance(0.3) ? now - random.between(0, 3_600_000) : -1
  const filters = [
    status && `status=${status}`,
    tag && `tag=${encodeURIComponent(tag)}`,
    since > 0 && `createdAfter=${new Date(since).toISOString()}`,
  ].filter(Boolean)
  const list = (...more: string[]) =>
    world.send({ kind: 'list', path: `/api/tasks?${[...filters, ...more].join('&')}`, credential })
  const answer = await list('limit=5')
  if (refused !== 0) return checks.same(answer.status, refused, 'the status of a list')
  world.refresh()
  const [name, value] = [tag.slice(0, tag.indexOf(':')), tag.slice(tag.indexOf(':') + 1)]
  const own = [...audit.seen.tasks.values()].filter((row) => row.user_id === person.userId)
  const expected = own.filter(
    (row) =>
      (status === '' || row.status === status) &&
      (tag === '' || model.state.tasks.get(row.id)?.asked.tags?.[name] === value) &&
      row.created_at > since,
  )
  checks.same(answer.body.total, expected.length, `the total of the tasks of ${person.userId} by ${filters.join(', ')}`)
  const ids = expected.toSorted((a, b) => b.created_at - a.created_at || b.seq - a.seq).map(({ id }) => id)
  const idsOf = ({ body }: SimAnswer) => body.tasks.map((task: { id: string }) => task.id)
  checks.same(idsOf(answer), ids.slice(0, 5), 'the newest tasks')
  checks.same(answer.body.next !== undefined, ids.length > 5, 'whether there is a next page')
  if (status !== '' || ids.length <= 5) return
  checks.same(idsOf(await list('limit=7', `after=${answer.body.next}`)), ids.slice(5, 12), 'the tasks after them')
}

export async function accountStep(world: SimWorld): Promise<void> {
  const person = world.person()
  const { credential, key } = world.credentialOf(person)
  const { checks, model, now } = world
  const refused = model.refusedCredential(person, key, now)
  const { body, status } = await world.send({ kind: 'account', path: '/api/account', credential })
  checks.same(status, refused === 0 ? 200 : refused, 'the status of the account')
  if (refused !== 0) return
  world.refresh()
  checks.same(
    [unitsOfUsd(body.balanceUsd), unitsOfUsd(body.heldUsd), unitsOfUsd(body.owedUsd)],
    [person.balance, person.held, person.owed],
    `the account of ${person.userId}`,
  )
  checks.same(
    body.blockedUntil === null ? null : Date.parse(body.blockedUntil),
    model.isBlocked(person, now) ? person.blockedUntil : null,
    'the block',
  )
  const oldest = person.executions.find((at) => at > now - minuteMs)
  checks.same(body.rateLimit.remaining, 10 - model.used(person, now), 'what remains of the rate')
  checks.same(
    body.rateLimit.resetAt === null ? undefined : Date.parse(body.rateLimit.resetAt),
    oldest === undefined ? undefined : oldest + minuteMs,
    'the reset of the rate',
  )
}
