import { unitsOfUsd, usdOfUnits } from './chat-cost.ts'
import type { SimPerson, SimPlatformKey } from './sim-state.ts'
import type { SimWorld } from './sim-world.ts'

// Platform keys of a product's server. They credit its users, and debit at most the amount that platform keys credited,
// within each key's daily limit.

const dayMs = 86_400_000

export async function platformStep(world: SimWorld): Promise<number> {
  const { random } = world
  const key = await platformKeyOf(world)
  const credited = world.state.people
    .filter((person) => person.platformCredited > 0 && !person.isOfModels)
    .toSorted((a, b) => b.platformCredited - a.platformCredited)
  const isTaken = credited.length > 0 && random.chance(0.6)
  const person = isTaken ? random.pick(credited.slice(0, 2)) : world.person()
  if (person.isSuspended) return 0
  world.refresh()
  const left = leftOf(key, { isTaken, now: world.now })
  const { balance, held, platformCredited } = person
  const most = isTaken ? random.pick([platformCredited, left]) : left
  const count = random.chance(0.3) ? random.between(2, 5) : 1
  const edge = Math.floor(most / random.between(1, count)) + random.pick([0, 0, 1])
  const amount = random.chance(0.5) && edge > 0 && edge < 200_000 ? edge : random.between(1, 6000)
  // Concurrent requests must all succeed if their sum is within the bounds.
  const room = isTaken ? Math.min(platformCredited, balance - held, left) : left
  const passes = Math.min(count, Math.max(0, Math.floor(room / amount)))
  const sent = { key, person, amount: isTaken ? -amount : amount }
  const answers = await Promise.all(Array.from({ length: count }, () => send(world, sent)))
  const statuses = answers.map(({ status }) => status)
  const { checks } = world
  world.refresh()
  const passed = answers.filter(({ status }) => status === 200)
  checks.same(
    passed.length,
    passes,
    `how many of ${count} credits of ${sent.amount} pass, within ${room} (${statuses.join()})`,
  )
  for (const { body, status } of answers) {
    if (status === 200) continue
    checks.that(['FORBIDDEN', 'LIMIT_REACHED', 'BAD_REQUEST'].includes(body.code), `a platform credit: ${body.code}`)
  }
  return count
}

type Sent = { key: SimPlatformKey; person: SimPerson; amount: number }

async function send(world: SimWorld, { amount, key, person }: Sent) {
  world.model.askCredit(person.userId, amount)
  const answer = await world.send({
    kind: 'platform',
    method: 'POST',
    path: `/api/users/${person.userId}/credit`,
    credential: { kind: 'key', token: key.token },
    headers: { 'Idempotency-Key': `platform-${world.nextNumber()}` },
    body: { amountUsd: usdOfUnits(amount), reason: 'By the product' },
  })
  if (answer.status !== 200) return answer
  leftOf(key, { isTaken: amount < 0, now: world.now })
  if (amount < 0) key.taken -= amount
  else key.credited += amount
  person.platformCredited += amount
  return answer
}

function leftOf(key: SimPlatformKey, { isTaken, now }: { isTaken: boolean; now: number }): number {
  const day = Math.floor(now / dayMs)
  if (key.day < day) Object.assign(key, { day, credited: 0, taken: 0 })
  return key.perDay === null ? Infinity : key.perDay - (isTaken ? key.taken : key.credited)
}

/** Returns one of two platform keys, one with a daily limit and one without. */
async function platformKeyOf(world: SimWorld): Promise<SimPlatformKey> {
  const { checks, random, state } = world
  if (state.platformKeys.length === 2) return random.pick(state.platformKeys)
  const perDay = state.platformKeys.length === 0 ? 3000 : null
  const { body, status } = await world.send({
    kind: 'key',
    method: 'POST',
    path: '/api/platform-keys',
    credential: await world.adminCredential(),
    body: { name: 'product', scopes: ['credit'], ...(perDay !== null && { creditPerDayUsd: usdOfUnits(perDay) }) },
  })
  checks.same(status, 200, 'the status of a new platform key')
  if (perDay !== null) checks.same(unitsOfUsd(body.creditPerDayUsd), perDay, 'the limit of a platform key')
  const key = { token: String(body.key), perDay, day: 0, credited: 0, taken: 0 }
  state.platformKeys.push(key)
  return key
}
