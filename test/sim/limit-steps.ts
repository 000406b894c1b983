import { manager, spendFields } from './access-steps.ts'
import { unitsOfUsd, usdOfUnits } from './chat-cost.ts'
import type { Spender } from './limit-model.ts'
import { simPlans, simPrices, type SimPlan } from './sim-agents.ts'
import type { SimKey, SimPerson } from './sim-state.ts'
import type { SimWorld } from './sim-world.ts'
import { bodyOf, checkAccepted, draftTask } from './task-steps.ts'

const dayMs = 86_400_000
const plans = [null, ...(Object.keys(simPlans) as SimPlan[])]

export async function limitStep(world: SimWorld): Promise<void> {
  const person = world.person()
  const limit = world.random.pick([limitUser, limitUser, limitKey, limitKey, tellWhenLow])
  await limit(world, person)
}

/** Sets the balance below which the owner is notified. The ledger check verifies the event. */
async function tellWhenLow(world: SimWorld, person: SimPerson): Promise<void> {
  const { checks, random } = world
  const { credential, refused } = manager(world, person)
  const notifyBelowUsd = random.chance(0.2) ? null : usdOfUnits(random.between(1, 40_000))
  const sent = { kind: 'notify', method: 'PATCH', path: '/api/account', credential, body: { notifyBelowUsd } }
  checks.same((await world.send(sent)).status, refused || 200, `the status of another threshold of ${person.userId}`)
}

async function limitUser(world: SimWorld, person: SimPerson): Promise<void> {
  const { checks, random } = world
  const plan = random.chance(0.4) ? random.pick(plans) : person.plan
  const used = -world.model.leftOf({ person: { ...person, plan: null, spendPerDay: 0 }, key: null }, world.now)
  const spendPerDay = random.chance(0.4) ? null : drawAmount(world, { used, most: 40_000 })
  const answer = await world.send({
    kind: 'limit',
    method: 'PATCH',
    path: `/api/users/${person.userId}`,
    credential: await world.adminCredential(),
    body: { plan, limits: { spendPerDayUsd: spendPerDay === null ? null : usdOfUnits(spendPerDay) } },
  })
  checks.same(answer.status, 200, `the status of other limits of ${person.userId}`)
  Object.assign(person, { plan, spendPerDay })
}

/** Returns a random limit, or one that a task's cost just reaches or just misses. */
function drawAmount({ random }: SimWorld, { most, used }: { used: number; most: number }): number {
  const price = random.pick(Object.values(simPrices))
  return random.chance(0.4) ? Math.max(0, used + price + random.pick([-1, 0, 0])) : random.between(0, most)
}

/** Limits a key. The limit also applies to all keys that this key replaced. */
async function limitKey(world: SimWorld, anybody: SimPerson): Promise<void> {
  const { checks, now, random } = world
  // A key's earlier spending counts toward its next limit, too.
  const spending = spendingKeys(world)
  const { key, person } =
    spending.length > 0 && random.chance(0.7)
      ? random.pick(spending)
      : { key: random.pick(anybody.keys), person: anybody }
  const { credential, isLimited, refused } = manager(world, person)
  const reset = random.pick(['never', 'day', 'day', 'week', 'month'] as const)
  const nothing: Spender = { person: { ...person, ...unlimited }, key: { ...key, spend: { amount: 0, reset } } }
  const amount = drawAmount(world, { used: -world.model.leftOf(nothing, now), most: 12_000 })
  const spend = random.chance(0.3) ? null : { amount, reset }
  const body = spend === null ? { limitUsd: null } : spendFields(spend)
  const answer = await world.send({ kind: 'key', method: 'PATCH', path: `/api/keys/${key.id}`, credential, body })
  const isEnded = key.isRevoked || (key.expiresAt !== null && key.expiresAt <= now)
  // Ended keys are deleted after 90 days.
  if (isEnded && answer.status === 404) return
  const foreseen = isLimited ? 403 : isEnded ? 409 : 200
  checks.same(answer.status, refused || foreseen, `the status of other limits of ${key.id}`)
  if (answer.status !== 200) return
  const isOther = spend !== null && spend.reset !== key.spend?.reset
  if (isOther) world.model.carryOver({ ownerId: key.countsAs, reset: spend.reset }, now)
  for (const one of person.keys) if (one.countsAs === key.countsAs) one.spend = spend
  const shown = answer.body.usedUsd === null ? null : unitsOfUsd(answer.body.usedUsd)
  checks.same(shown, spend && -world.model.leftOf(nothing, now), `what ${key.id} has used`)
}

function spendingKeys({ now, state }: SimWorld): { key: SimKey; person: SimPerson }[] {
  const lately = state.spent.slice(-200).filter(({ createdAt }) => now - createdAt < dayMs)
  const owners = new Set(lately.map(({ ownerId }) => ownerId))
  return state.people.flatMap((person) =>
    person.keys
      .filter(({ countsAs, isRevoked, spend }) => spend && !isRevoked && owners.has(countsAs))
      .map((key) => ({ key, person })),
  )
}

const unlimited = { plan: null, spendPerDay: null } as const

/** Spends with a client token up to its own cap, within the limits of the key that created it. */
export async function clientTokenStep(world: SimWorld): Promise<number> {
  const { checks, model, random } = world
  const person = world.person()
  const { credential, key, refused } = manager(world, person)
  const maxCost = random.between(0, 1000)
  const answer = await world.send({
    kind: 'key',
    method: 'POST',
    path: '/api/client-tokens',
    credential,
    body: { maxCostUsd: usdOfUnits(maxCost) },
  })
  checks.same(answer.status, refused || 200, 'the status of a client token')
  if (answer.status !== 200) return 1
  const { expiresAt, id, token } = answer.body
  world.state.clientTokens.set(id, { userId: person.userId, expiresAt: Date.parse(expiresAt) })
  const spend = { amount: maxCost, reset: 'never' } as const
  const spender: Spender = { person, key: { countsAs: id, spend, ...(key && { maker: key }) } }
  const count = random.between(1, 5)
  for (let n = 0; n < count; n++) {
    const asked = {
      ...draftTask(world, person, random.pick(['sim.echo', 'sim.held', 'sim.fail', 'sim.metered'])),
      key: null,
    }
    const now = world.now
    model.sent(asked, spender, now)
    const foreseen = model.foreseeTask(asked, spender, now)
    const sent = { kind: 'task', method: 'POST', path: '/api/tasks', body: bodyOf(asked) }
    const task = await world.send({ ...sent, credential: { kind: 'key', token } })
    checks.same(task.status, foreseen.status, `the status of ${asked.endpointId} with a client token of ${maxCost}`)
    if ('error' in foreseen) checks.same(task.body.error, foreseen.error, 'the reason of a refusal')
    if (task.status === 200) checkAccepted(world, task)
    await world.quiesce()
  }
  return count
}
