import { unitsOfUsd, usdOfUnits } from './chat-cost.ts'
import { newTopup } from './payment-model.ts'
import type { KnownEvent } from './sim-payments.ts'
import type { SimTopup } from './sim-state.ts'
import type { SimWorld } from './sim-world.ts'

// Payments whose provider events arrive late, twice or in any order, even a refund or dispute before the payment.

const dayMs = 86_400_000
const centUnits = 100
const unpaidMax = 50

export async function topupStep(world: SimWorld): Promise<void> {
  const { checks, model, now, payments, random, state } = world
  const person = world.person()
  const { credential, key: by } = world.credentialOf(person)
  const refused = model.refusedCredential(person, by, now)
  const used = [...state.topupKeys].filter(([name, { at }]) => name.startsWith(person.userId) && now - at < dayMs)
  const repeated = used.length > 0 && random.chance(0.2) ? random.pick(used) : undefined
  const isSame = repeated !== undefined && random.chance(0.7)
  const amount = isSame ? unitsOfUsd(repeated[1].body) : random.between(100, 300) * centUnits
  // Derives the value from the amount, so that a repeated request sends the same value.
  const saves = (amount / centUnits) % 2 === 0
  const name = repeated?.[0] ?? (random.chance(0.3) ? `${person.userId} ${world.nextNumber()}` : null)
  const unpaid = [...state.topups.values()].filter(
    (topup) => topup.userId === person.userId && !topup.isPaid && topup.createdAt > now - dayMs,
  )
  const answer = await world.send({
    kind: 'topup',
    method: 'POST',
    path: '/api/topups',
    credential,
    body: { amountUsd: usdOfUnits(amount), ...(saves && { savesMethod: true }) },
    ...(name !== null && { headers: { 'Idempotency-Key': name.replaceAll(' ', '-') } }),
  })
  const isSameBody = repeated !== undefined && repeated[1].body === usdOfUnits(amount)
  const foreseen = repeated ? (isSameBody ? 200 : 409) : unpaid.length >= unpaidMax ? 409 : 200
  checks.same(answer.status, refused || foreseen, `the status of a top-up of ${amount} for ${person.userId}`)
  if (answer.status !== 200) return
  const { body } = answer
  if (repeated) {
    checks.same([body.id, unitsOfUsd(body.amountUsd)], [repeated[1].topupId, amount], 'a repeated top-up')
    return
  }
  checks.same([body.status, unitsOfUsd(body.amountUsd)], ['open', amount], `the top-up ${body.id}`)
  state.topups.set(body.id, newTopup({ id: body.id, userId: person.userId, amount, createdAt: now, saves }))
  if (name !== null) state.topupKeys.set(name, { body: usdOfUnits(amount), topupId: body.id, at: now })
  checks.same(payments.stub.sessionOf(body.id).amount_total * centUnits, amount, `what is asked for ${body.id}`)
}

/**
 * Changes a payment, then delivers some of its events and some of other payments' events, in any order, some of them
 * twice.
 */
export async function paymentStep(world: SimWorld): Promise<number> {
  const { payments, random, state } = world
  const topups = [...state.topups.values()]
  if (topups.length === 0) {
    await topupStep(world)
    return 1
  }
  const topup = random.pick(ofBusyPeople(world, random.chance(0.8) ? topups.slice(-8) : topups))
  for (let n = random.between(1, 3); n > 0; n--) happen(world, topup)
  const waiting = [...payments.unsent].filter(() => random.chance(0.6))
  const again = payments.told.slice(-40).filter(() => random.chance(0.05))
  const sent = shuffled(world, [...waiting, ...again, ...again])
  const send = async (event: KnownEvent) => {
    if ((await payments.send(event)) === 200) payments.checkKept(event)
  }
  if (random.chance(0.5)) await Promise.all(sent.map(send))
  else for (const event of sent) await send(event)
  await world.quiesce()
  await readTopup(world, topup)
  return sent.length
}

/** Prefers top-ups of people with tasks or chats in progress, so that those end after the event. */
function ofBusyPeople(world: SimWorld, topups: SimTopup[]): SimTopup[] {
  if (world.random.chance(0.4)) return topups
  const { openTasks, openTurns, tasks, turns } = world.audit.seen
  const rows = [...[...openTasks].map((id) => tasks.get(id)!), ...[...openTurns].map((id) => turns.get(id)!)]
  const busy = topups.filter(({ userId }) => rows.some((row) => row.user_id === userId))
  return busy.length > 0 ? busy : topups
}

export function happen(world: SimWorld, { amount, id, isAuto }: SimTopup): void {
  const { payments, random } = world
  const { stub } = payments
  const intent = [...stub.intents.values()].find(({ metadata }) => metadata['errand_topup'] === id)
  if (!intent && isAuto) return
  if (!intent) {
    const session = stub.sessionOf(id)
    // An expired checkout page cannot be paid.
    if (session.status === 'expired') return
    const what = random.weighted({ pay: 10, later: 3, expire: 1 })
    if (what === 'pay') payments.tells(id, stub.pay(session), { kind: 'paid' })
    if (what === 'later') payments.tells(id, stub.pay(session, { isLater: true }), { kind: 'noted' })
    if (what === 'expire') payments.tells(id, stub.expire(session), { kind: 'expired' })
    return
  }
  if (intent.latest_charge === null) {
    if (intent.status !== 'processing') return
    const succeeds = random.chance(0.8)
    payments.tells(id, stub.settle(stub.sessionOf(id), succeeds), { kind: succeeds ? 'paid' : 'failed' })
    return
  }
  const open = [...stub.disputes.values()].filter(
    (dispute) => dispute.payment_intent === intent.id && dispute['status'] === 'needs_response',
  )
  const what = random.weighted({ nothing: 3, refund: 4, dispute: open.length === 0 ? 4 : 0, end: open.length * 6 })
  if (what === 'refund') {
    const left = amount / centUnits - intent.latest_charge.amount_refunded
    if (left <= 0) return
    const event = stub.refund(intent, random.chance(0.3) ? left : random.between(1, left))
    payments.tells(id, event, { kind: 'refunded', refunded: intent.latest_charge.amount_refunded * centUnits })
  }
  if (what === 'dispute') {
    // A dispute may cover an amount that was already refunded.
    const cents = random.chance(0.5) ? intent.amount : random.between(1, intent.amount)
    const { created, id: disputeId, withdrawn } = stub.dispute(intent, cents)
    payments.tells(id, created, { kind: 'noted' })
    payments.tells(id, withdrawn, { kind: 'withdrawn', disputeId, amount: cents * centUnits })
  }
  if (what !== 'end') return
  const { amount: cents, id: disputeId } = random.pick(open)
  const [closed, reinstated] = stub.endDispute(disputeId, random.pick(['won', 'lost']))
  payments.tells(id, closed!, { kind: 'noted' })
  if (reinstated) payments.tells(id, reinstated, { kind: 'reinstated', disputeId, amount: Number(cents) * centUnits })
}

function shuffled<Item>({ random }: SimWorld, items: readonly Item[]): Item[] {
  const left = [...items]
  const order: Item[] = []
  while (left.length > 0) order.push(...left.splice(random.between(0, left.length - 1), 1))
  return order
}

async function readTopup(world: SimWorld, { amount, id, isPaid, refunded, userId }: SimTopup): Promise<void> {
  const { checks, model } = world
  const person = model.person(userId)
  const { credential, key } = world.credentialOf(person)
  const refused = model.refusedCredential(person, key, world.now)
  const { body, status } = await world.send({ kind: 'topup', path: `/api/topups/${id}`, credential })
  checks.same(status, refused || 200, `the status of the read of ${id}`)
  if (status !== 200) return
  const shown = [body.status === 'paid', unitsOfUsd(body.amountUsd), unitsOfUsd(body.refundedUsd)]
  checks.same(shown, [isPaid, amount, refunded], `the top-up ${id} as it is read`)
}
