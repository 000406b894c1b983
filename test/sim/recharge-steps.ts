import { newId } from '../../server/kernel/ids.ts'
import { unitsOfUsd, usdOfUnits } from './chat-cost.ts'
import { suspend } from './money-steps.ts'
import { newTopup } from './payment-model.ts'
import { dueRecharge, pauseMs, rechargeUnderWay, simTopups } from './recharge-model.ts'
import { passUntil } from './time-steps.ts'
import type { SimPerson } from './sim-state.ts'
import type { SimWorld } from './sim-world.ts'

// Auto-recharges with a saved payment method. Some of them are left in progress by a process that dies before or after
// its request to the provider.

/** Time after which the service takes over a recharge that is still in progress. */
const leftMs = 60_000
/** Time after which the service gives up a recharge, because the provider may have forgotten the request. */
const givenUpMs = 20 * 3_600_000
const unitsPerUsd = 10_000

export async function setRechargeStep(world: SimWorld): Promise<void> {
  const { random, state } = world
  const able = state.people.filter(({ hasMethod }) => hasMethod)
  const person = able.length > 0 && random.chance(0.9) ? random.pick(able) : world.person()
  await changeRecharge(world, person, random.weighted({ on: 10, off: 2, remove: 0.5 }))
}

async function changeRecharge(world: SimWorld, person: SimPerson, what: 'on' | 'off' | 'remove'): Promise<void> {
  const { checks, model, now, random } = world
  const { credential, key } = world.credentialOf(person, { prefersLogin: what === 'on' })
  const refused = model.refusedCredential(person, key, now)
  const send = { kind: 'recharge', credential }
  if (what === 'remove') {
    const { status } = await world.send({ ...send, method: 'DELETE', path: '/api/account/payment-method' })
    checks.same(status, refused || 200, `the status of the removal of what ${person.userId} pays with`)
    if (status === 200) Object.assign(person, { hasMethod: false, recharge: null })
    return
  }
  // Usually above the balance, so that a recharge is due immediately.
  const highest = random.between(1, 5 * unitsPerUsd) + (random.chance(0.8) ? person.balance : 0)
  const below = Math.min(highest, simTopups.most - 10 * unitsPerUsd)
  const to = below + random.between(1, 10 * unitsPerUsd)
  const recharge = what === 'off' ? null : { below, to, monthlyMax: random.between(1, 60) * unitsPerUsd }
  const body = {
    autoRecharge: recharge && {
      belowUsd: usdOfUnits(recharge.below),
      toUsd: usdOfUnits(recharge.to),
      monthlyMaxUsd: usdOfUnits(recharge.monthlyMax),
    },
  }
  const answer = await world.send({ ...send, method: 'PATCH', path: '/api/account', body })
  // Only a browser login may enable automatic charges.
  const isByKey = credential.kind !== 'login'
  const foreseen = recharge && isByKey ? 403 : recharge && !person.hasMethod ? 409 : 200
  checks.same(answer.status, refused || foreseen, `the status of a change of the recharge of ${person.userId}`)
  if (answer.status !== 200) return
  person.recharge = recharge
  const { autoRecharge: shown, savedMethod } = answer.body.payments
  const said = shown && [unitsOfUsd(shown.belowUsd), unitsOfUsd(shown.toUsd), unitsOfUsd(shown.monthlyMaxUsd)]
  const set = recharge && [recharge.below, recharge.to, recharge.monthlyMax]
  checks.same([savedMethod !== null, said], [person.hasMethod, set], `the recharge of ${person.userId}`)
}

/** Makes all nodes poll for balances to recharge simultaneously, sometimes twice. */
export async function rechargeStep(world: SimWorld): Promise<void> {
  const { checks, model, payments, random, state } = world
  const { stub } = payments
  if (random.chance(0.4)) await leaveRecharge(world)
  if (random.chance(0.4))
    await passUntil(
      world,
      world.now + random.pick([leftMs - 1, leftMs, leftMs + 1000, pauseMs - 1, pauseMs, givenUpMs + 1]),
    )
  const { now } = world
  const due = new Map(state.people.map((person) => [person, dueRecharge(state, person, { bounds: simTopups, now })]))
  const left = state.people.flatMap((person) => rechargeUnderWay(state, person) ?? [])
  stub.card = random.weighted({ accepts: 6, declines: 1, 'needs-authentication': 1 })
  const [before, told] = [state.topups.size, stub.events.length]
  world.note(`look for balances to recharge, of a card that ${stub.card}: ${[...due.values()].join(' ')}`)
  model.withRecharges = true
  const looks = world.allNodes().flatMap((node) => Array.from({ length: random.between(1, 2) }, () => node))
  await Promise.all(looks.map((node) => world.at(node).host.recharge()))
  world.refresh()
  model.withRecharges = false
  stub.card = 'accepts'
  payments.tellsRecharges(told)
  const expected = [...due.values()].filter((amount) => amount > 0).length
  // If the first poll abandons an old recharge, a second poll may start a new one.
  const again = left.filter(({ hasExpired }) => hasExpired).length
  const made = state.topups.size - before
  checks.that(
    made >= expected && made <= expected + again,
    `${made} recharges instead of ${expected}, or ${again} more`,
  )
  for (const { createdAt, hasExpired, hasFailed, id, isPaid } of left) {
    const hasEnded = isPaid || hasFailed || hasExpired
    checks.same(hasEnded, now - createdAt >= leftMs, `${id}, which was left ${now - createdAt} ms ago, has ended`)
  }
}

/** Writes a recharge row like a process that dies before it receives the provider's response. */
async function leaveRecharge(world: SimWorld): Promise<void> {
  const { checks, now, payments, random, state } = world
  const dueNow = (of: SimPerson) => dueRecharge(state, of, { bounds: simTopups, now })
  const able = state.people.filter((one) => dueNow(one) > 0)
  if (able.length === 0) return
  const person = random.pick(able)
  const due = dueNow(person)
  const { userId } = person
  const topupId = newId('top', now)
  const begun = await world.beside((store) => store.payments.beginRecharge({ userId, topupId, ...simTopups }))
  checks.same([begun?.topup.amount, begun?.isNew], [due, true], `what is recharged for ${userId}`)
  const topup = newTopup({ id: topupId, userId, amount: due, createdAt: begun!.topup.createdAt, isAuto: true })
  state.topups.set(topupId, topup)
  topup.wasAsked = random.chance(0.5)
  world.note(`a process dies at ${topupId} of ${due}${topup.wasAsked ? ', which it has asked for' : ''}`)
  if (topup.wasAsked) {
    const told = payments.stub.events.length
    await payments.ask(begun!)
    payments.tellsRecharges(told)
  }
  // The service drops an unsent recharge if its user disables auto-recharge, removes the payment method or is
  // suspended.
  const end = random.weighted({ nothing: 3, off: 1, remove: 1, suspend: 1 })
  if (end === 'suspend') await suspend(world, person, true)
  else if (end !== 'nothing') await changeRecharge(world, person, end)
  if (end !== 'nothing') await passUntil(world, now + leftMs)
}
