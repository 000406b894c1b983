import { usdOfUnits } from './chat-cost.ts'
import { crash } from './restart-steps.ts'
import type { SimPerson } from './sim-state.ts'
import type { SimWorld } from './sim-world.ts'
import { linkStep } from './task-steps.ts'

const peopleMin = 4
const centUnits = 100
const disputeMs = 120 * 86_400_000

/**
 * Lets an admin erase a person, or has the erasure rejected because of open work, a debt, a payment or the balance.
 * The ledger keeps the person's rows, and late refunds and disputes still change the balance.
 */
export async function eraseStep(world: SimWorld): Promise<number> {
  const { checks, model, payments, random, state } = world
  const able = state.people.filter(({ isOfModels }) => !isOfModels)
  if (able.length <= peopleMin) return 0
  const isDebtMade = random.chance(0.3) && (await bringIntoDebt(world, able))
  const refusals = new Map(able.map((one) => [one, refusalOf(world, one)]))
  const free = able.filter((one) => refusals.get(one) === undefined)
  const owing = able.filter((one) => refusals.get(one) === owes(one))
  const preferred = isDebtMade ? owing : random.pick([free, owing, able])
  const person = random.pick(preferred.length > 0 ? preferred : able)
  const { balance, hasMethod, userId } = person
  const forfeit = balance + (random.chance(0.1) ? 1 : 0)
  const refusal =
    refusals.get(person) ??
    (forfeit === balance ? undefined : `The account has ${usdOfUnits(balance)} USD left. Set forfeitBalanceUsd`)
  const isUnreachable = random.chance(0.3)
  const leaveSavedMethod = random.chance(0.3)
  const staysSaved = isUnreachable && hasMethod
  const expected = refusal !== undefined ? 409 : staysSaved && !leaveSavedMethod ? 503 : 200
  if (expected === 200 && balance > 0) model.askCredit(userId, -balance)
  const credential = await world.adminCredential()
  // Stripe's client does not retry after 401.
  if (isUnreachable) payments.stub.failure = 401
  const { body, status } = await world.send({
    kind: 'erase',
    method: 'POST',
    path: `/api/users/${userId}/erase`,
    credential,
    body: { forfeitBalanceUsd: usdOfUnits(forfeit), leaveSavedMethod },
    mayBeBusy: () => expected === 503,
  })
  payments.stub.failure = undefined
  checks.same(status, expected, `the status of the erasure of ${userId} with ${balance}`)
  if (refusal !== undefined) {
    checks.that(
      String(body.message).startsWith(refusal),
      `"${body.message}" rejects the erasure of ${userId}: ${refusal}`,
    )
  }
  if (status === 503) person.recharge = null
  if (status !== 200) return 1
  checks.same(body.leftMethod !== null, staysSaved, `whether the erasure of ${userId} left the payment method`)
  await finishErasure(world, person)
  return 1
}

/** Returns the start of the message if something other than the balance prevents the erasure. */
function refusalOf({ audit, now }: SimWorld, person: SimPerson): string | undefined {
  const { owed, userId } = person
  const { openTasks, openTurns, tasks, turns } = audit.seen
  const isOwn = (row: { user_id: string } | undefined) => row!.user_id === userId
  if ([...openTasks].some((id) => isOwn(tasks.get(id))) || [...openTurns].some((id) => isOwn(turns.get(id)))) {
    return 'The account has tasks or chats in progress'
  }
  if (owed > 0) return owes(person)
  const topups = audit.reader.everything().topups.filter(isOwn)
  if (topups.some(({ status }) => status === 'open')) return 'The account has an unpaid top-up'
  const isDisputed = topups.some((row) => row.disputed > 0 && row.updated_at > now - disputeMs)
  return isDisputed ? 'A payment of the account is disputed' : undefined
}

/** Debits a person's balance and then refunds one of the person's payments. Returns whether there was one to refund. */
async function bringIntoDebt(world: SimWorld, able: SimPerson[]): Promise<boolean> {
  const { checks, model, payments, random, state } = world
  const idle = able.filter((one) => one.held === 0 && refusalOf(world, one) === undefined)
  const paid = [...state.topups.values()].filter(
    (topup) => topup.isPaid && topup.refunded < topup.amount && idle.some(({ userId }) => userId === topup.userId),
  )
  if (paid.length === 0) return false
  const { amount, id, userId } = random.pick(paid)
  const intent = payments.stub.intentOf(id)
  const left = amount / centUnits - (intent.latest_charge?.amount_refunded ?? Infinity)
  if (left <= 0) return false
  const { balance } = model.person(userId)
  if (balance > 0) {
    model.askCredit(userId, -balance)
    const { status } = await world.send({
      kind: 'credit',
      method: 'POST',
      path: `/api/users/${userId}/credit`,
      credential: await world.adminCredential(),
      body: { amountUsd: usdOfUnits(-balance), reason: 'A simulated debit' },
    })
    checks.same(status, 200, `the status of a debit of ${balance} for ${userId}`)
    world.refresh()
  }
  payments.tells(id, payments.stub.refund(intent, left), { kind: 'refunded', refunded: amount })
  checks.same(await payments.send(payments.told.at(-1)!), 200, `the status of the refund of ${id}`)
  await world.quiesce()
  world.refresh()
  return true
}

function owes({ owed }: SimPerson): string {
  return `The account owes ${usdOfUnits(owed)} USD`
}

async function finishErasure(world: SimWorld, person: SimPerson): Promise<void> {
  const { audit, checks, random, state } = world
  const { keys, userId } = person
  state.people = state.people.filter((other) => other !== person)
  state.erased.push(person)
  audit.seen.erased.add(userId)
  Object.assign(person, { isSuspended: true, hasMethod: false, recharge: null })
  for (const key of keys) key.isRevoked = true
  for (const login of person.logins) login.hasEnded = true
  const owners = new Set(keys.map(({ countsAs }) => countsAs))
  for (const [id, token] of state.clientTokens) if (token.userId === userId) owners.add(id)
  for (const name of state.windows.keys()) if (owners.has(name.split(' ')[0]!)) state.windows.delete(name)
  const links = state.links.filter((link) => link.userId === userId)
  state.links = state.links.filter((link) => link.userId !== userId)

  if (random.chance(0.2)) await crash(world)
  await world.beside(async ({ erasure }) => {
    while (await erasure.eraseMore(userId)) continue
    checks.that(!(await erasure.inProgress()).includes(userId), `the erasure of ${userId} has ended`)
  })
  for (const session of state.sessions.values()) if (session.userId === userId) session.isDeleted = true
  world.refresh()
  checks.same(person.balance, 0, `the balance of the erased ${userId}`)
  for (const row of world.audit.reader.everything().tasks.filter((task) => task.user_id === userId)) {
    const { request, request_payload: requestPayload, response, response_payload: responsePayload, tags } = row
    const contents = [request, requestPayload, response, responsePayload, tags]
    checks.same(contents, ['{}', null, null, null, null], `what is left of ${row.id}`)
  }
  const credential = { kind: 'key', token: random.pick(keys).token } as const
  const { status } = await world.send({ kind: 'account', path: '/api/account', credential })
  checks.same(status, 401, `a key of the erased ${userId}`)
  // `send` rejects answers that contain the address of an erased person.
  for (const path of [`/api/users/${userId}`, '/api/users?limit=100', '/api/admin/audit?limit=100']) {
    const answer = await world.send({ kind: 'account', path, credential: await world.adminCredential() })
    checks.same(answer.status, 200, `the status of ${path} after an erasure`)
  }
  if (links.length > 0) await linkStep(world, { ...random.pick(links), isErased: true })
}
