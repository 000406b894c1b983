import { expect } from 'vitest'
import { newId } from '../../server/kernel/ids.ts'
import type { LedgerDifference } from '../../server/store/ledger/ledger-report.ts'
import { nothingUsed } from '../../server/store/sessions/turn-endings.ts'
import { openSession } from './contract-events.ts'
import { failed, moneyOf, openTopup, paid, stateOf, tell } from './payment-drafts.ts'
import type { ContractTest } from './store-contract.ts'
import type { StoreWorld, Tampering } from './store-world.ts'

const whole = 100_000
const day = 86_400_000

async function told(world: StoreWorld, userId: string) {
  const rows = await world.events(userId)
  return rows.map(({ body, type }) => ({ type, ...(JSON.parse(body) as { data: object }).data }))
}

/** Creates a user with one paid top-up who has spent this much of it. */
async function spent(world: StoreWorld, cost: number) {
  const userId = await world.createUser(0)
  const topup = await openTopup(world, userId, whole)
  await tell(world, topup, paid(whole))
  if (cost > 0) await world.completed(userId, { cost })
  return { userId, topup }
}

type Damage = {
  title: string
  change: (of: { userId: string; topupId: string }) => Tampering
  finds: Partial<LedgerDifference>
}

const owedWhat = 'the owed amount equals the unpaid part of refunded and disputed top-ups'
/** Damages for an account with 9 USD left after a top-up of 10 USD and a refund of 1 USD. */
const damages: Damage[] = [
  {
    title: 'a debt that no top-up explains',
    change: ({ userId }) => ({ what: 'owed', userId, by: 5 }),
    finds: { what: owedWhat, expected: '0.0000', actual: '0.0005' },
  },
  {
    title: 'a debt despite an available balance',
    change: ({ userId }) => ({ what: 'owed', userId, by: 5 }),
    finds: { what: 'no account with an available balance owes money', expected: '0.0000', actual: '9.0000' },
  },
  {
    title: 'a refund that was not taken back',
    change: ({ topupId }) => ({ what: 'topup-refunded', topupId, by: 100 }),
    finds: { what: owedWhat, expected: '0.0100', actual: '0.0000' },
  },
  {
    title: 'a dispute above the amount of its top-up',
    change: ({ topupId }) => ({ what: 'topup-disputed', topupId, by: 90_001 }),
    finds: { what: 'the refunds and disputes of each top-up are together at most its amount', actual: '10.0001' },
  },
  {
    title: 'a credit whose top-up is missing',
    change: ({ topupId }) => ({ what: 'topup-removed', topupId }),
    finds: { what: 'each top-up transaction belongs to a paid top-up of its user', actual: '10.0000' },
  },
  {
    title: 'a credit for an unpaid top-up',
    change: ({ topupId }) => ({ what: 'topup-unpaid', topupId }),
    finds: {
      what: 'each paid top-up has one credit equal to its amount, and no other top-up has a credit',
      actual: '10.0000',
    },
  },
]

export function describePayments(contractTest: ContractTest): void {
  contractTest('credits a paid top-up once, no matter how often its state is read', async (world) => {
    const userId = await world.createUser(0)
    const topup = await openTopup(world, userId, whole)
    expect(topup).toMatchObject({ status: 'open', amount: whole, isAuto: false, paidAt: null })
    expect(await tell(world, topup, {})).toMatchObject({ topup: { status: 'open' } })
    expect(await moneyOf(world, userId)).toEqual({ balance: 0, owed: 0 })
    const first = await tell(world, topup, paid(whole))
    expect(first).toMatchObject({ outcome: 'applied', topup: { status: 'paid', paidAt: world.clock.now() } })
    expect(await tell(world, topup, paid(whole))).toMatchObject({ outcome: 'nothing-new' })
    world.clock.advance(366 * day)
    await world.purge()
    expect(await tell(world, topup, paid(whole))).toMatchObject({ outcome: 'nothing-new' })
    expect(await moneyOf(world, userId)).toEqual({ balance: whole, owed: 0 })
    const { transactions } = await world.store.listTransactions({ userId, limit: 10, offset: 0 })
    expect(transactions).toMatchObject([{ type: 'credit', amount: whole, topupId: topup.id }])
  })

  contractTest('a paid top-up writes a credit event and a payment event', async (world) => {
    const { topup, userId } = await spent(world, 0)
    const events = (await told(world, userId)).toSorted((a, b) => a.type.localeCompare(b.type))
    expect(events).toMatchObject([
      { type: 'credit.added' },
      { type: 'payment.succeeded', topupId: topup.id, amountUsd: '10.0000' },
    ])
  })

  contractTest('ignores a state that was read before the last applied state', async (world) => {
    const { topup, userId } = await spent(world, 0)
    const version = 1
    const older = { state: stateOf(topup, paid(whole, { disputed: whole })), version }
    // The dispute has been won in the meantime, so the new state equals the stored one.
    expect(await tell(world, topup, paid(whole))).toMatchObject({ outcome: 'nothing-new' })
    expect(await world.store.payments.applyState(older)).toMatchObject({ outcome: 'stale', topup: { disputed: 0 } })
    const several = Array.from({ length: 5 }, () =>
      world.store.payments.applyState({ state: stateOf(topup, paid(whole, { refunded: 100 })), version: 2 }),
    )
    const outcomes = (await Promise.all(several)).map(({ outcome }) => outcome)
    expect(outcomes.toSorted()).toEqual(['applied', 'stale', 'stale', 'stale', 'stale'])
    expect(await moneyOf(world, userId)).toEqual({ balance: whole - 100, owed: 0 })
  })

  contractTest('ignores a payment with a different amount, currency or top-up', async (world) => {
    const userId = await world.createUser(0)
    const topup = await openTopup(world, userId, whole)
    const before = await world.everything(userId)
    expect(await tell(world, topup, paid(whole - 1))).toMatchObject({ outcome: 'another-amount' })
    const euros = { status: 'paid', paid: { amount: whole, currency: 'eur' } } as const
    expect(await tell(world, topup, euros)).toMatchObject({ outcome: 'another-currency' })
    const unknown = { state: stateOf({ id: 'top_unknown' }, paid(whole)), version: 0 }
    expect(await world.store.payments.applyState(unknown)).toEqual({ outcome: 'unknown-topup', topup: null })
    expect(await world.everything(userId)).toEqual(before)
    await tell(world, topup, paid(whole))
    expect(await tell(world, topup, failed)).toMatchObject({ outcome: 'not-paid', topup: { status: 'paid' } })
    expect(await moneyOf(world, userId)).toEqual({ balance: whole, owed: 0 })
  })

  contractTest('credits a failed top-up that is paid later', async (world) => {
    const userId = await world.createUser(0)
    const topup = await openTopup(world, userId, whole)
    expect(await tell(world, topup, failed)).toMatchObject({ topup: { status: 'failed' } })
    expect(await tell(world, topup, failed)).toMatchObject({ outcome: 'nothing-new' })
    expect(await tell(world, topup, paid(whole))).toMatchObject({ topup: { status: 'paid' } })
    expect(await moneyOf(world, userId)).toEqual({ balance: whole, owed: 0 })
    const types = (await told(world, userId)).map(({ type }) => type)
    expect(types.toSorted()).toEqual(['credit.added', 'payment.failed', 'payment.succeeded'])
  })

  contractTest('takes back refunds up to the paid amount and restores those that fail', async (world) => {
    const { topup, userId } = await spent(world, 0)
    await tell(world, topup, paid(whole, { refunded: 30_000 }))
    await tell(world, topup, paid(whole, { refunded: 50_000 }))
    expect(await moneyOf(world, userId)).toEqual({ balance: 50_000, owed: 0 })
    await tell(world, topup, paid(whole, { refunded: 9_000_000 }))
    expect(await moneyOf(world, userId)).toEqual({ balance: 0, owed: 0 })
    world.clock.advance(1)
    const after = await tell(world, topup, paid(whole, { refunded: 50_000 }))
    expect(after).toMatchObject({ outcome: 'applied', topup: { refunded: 50_000 } })
    expect(await moneyOf(world, userId)).toEqual({ balance: 50_000, owed: 0 })
    const reversals = await world.store.listTransactions({ userId, type: 'topup_reversal', limit: 10, offset: 0 })
    expect(reversals.transactions.map(({ amount }) => amount)).toEqual([50_000, -50_000, -20_000, -30_000])
    expect((await told(world, userId)).at(-1)).toMatchObject({ type: 'payment.refunded', refundedUsd: '5.0000' })
  })

  contractTest('a refund and a dispute together take back no more than was paid', async (world) => {
    const { topup, userId } = await spent(world, 0)
    await tell(world, topup, paid(whole, { disputed: whole }))
    const both = await tell(world, topup, paid(whole, { refunded: 80_000, disputed: whole }))
    expect(both).toMatchObject({ topup: { refunded: 80_000, disputed: 20_000 } })
    expect(await moneyOf(world, userId)).toEqual({ balance: 0, owed: 0 })
    await tell(world, topup, paid(whole, { refunded: 80_000 }))
    expect(await moneyOf(world, userId)).toEqual({ balance: 20_000, owed: 0 })
    expect(await world.verify()).toMatchObject({ ok: true })
  })

  contractTest('an uncovered refund becomes debt that blocks tasks and chats until it is paid', async (world) => {
    const { topup, userId } = await spent(world, 80_000)
    await tell(world, topup, paid(whole, { refunded: whole }))
    expect(await moneyOf(world, userId)).toEqual({ balance: 0, owed: 80_000 })
    await world.expectRefused(world.draft(userId, { cost: 0 }), { outcome: 'refused', reason: 'owed', owed: 80_000 })
    const turn = { turnId: newId('turn', 0), sessionId: await openSession(world, userId), userId, idempotency: null }
    const asked = { ...turn, required: 0, hold: 0 }
    expect(await world.store.openTurn(asked)).toMatchObject({ outcome: 'refused', reason: 'owed', owed: 80_000 })
    const credit = { userId, amount: 50_000, description: 'A gift', idempotencyKey: 'gift' }
    const credited = await world.store.credit(credit)
    expect(credited).toMatchObject({ outcome: 'credited', balance: 0 })
    expect(await moneyOf(world, userId)).toEqual({ balance: 0, owed: 30_000 })
    expect(await world.store.credit(credit)).toEqual({ ...credited, outcome: 'replayed' })
    await world.store.credit({ ...credit, idempotencyKey: 'more' })
    expect(await moneyOf(world, userId)).toEqual({ balance: 20_000, owed: 0 })
    expect(await world.admit(userId)).toMatchObject({ outcome: 'accepted' })
  })

  contractTest('money returned by a failed task or a chat pays off debt', async (world) => {
    const { topup, userId } = await spent(world, 0)
    const task = await world.processing(userId, { cost: 30_000 })
    const turnId = newId('turn', world.clock.now())
    const sessionId = await openSession(world, userId)
    const money = { required: 1, hold: 40_000 }
    await world.store.openTurn({ turnId, sessionId, userId, idempotency: null, ...money })
    await tell(world, topup, paid(whole, { disputed: whole }))
    expect(await moneyOf(world, userId)).toEqual({ balance: 40_000, owed: 70_000 })
    const settled = { turnId, outcome: 'finished', cost: 10_000, breakdown: nothingUsed, exchange: null } as const
    expect(await world.store.settleTurn(settled)).toMatchObject({ charged: 10_000, balance: 0 })
    expect(await moneyOf(world, userId)).toEqual({ balance: 0, owed: 40_000 })
    const error = { code: 'AGENT_ERROR', message: 'It threw.', details: '' }
    await world.store.failTask({ taskId: task.id, attempt: 1, error, countsAsAbuse: false })
    expect(await moneyOf(world, userId)).toEqual({ balance: 0, owed: 10_000 })
  })

  contractTest('a dispute takes back the money even if it was spent; winning the dispute returns it', async (world) => {
    const { topup, userId } = await spent(world, 60_000)
    await tell(world, topup, paid(whole, { disputed: whole }))
    expect(await moneyOf(world, userId)).toEqual({ balance: 0, owed: 60_000 })
    world.clock.advance(1)
    const won = await tell(world, topup, paid(whole))
    expect(won).toMatchObject({ outcome: 'applied', topup: { disputed: 0 } })
    expect(await moneyOf(world, userId)).toEqual({ balance: 40_000, owed: 0 })
    const disputes = (await told(world, userId)).filter(({ type }) => type === 'payment.disputed')
    expect(disputes).toMatchObject([
      { disputedUsd: '10.0000', owedUsd: '6.0000' },
      { disputedUsd: '0.0000', owedUsd: '0.0000' },
    ])
  })

  contractTest('credits a payment less earlier refunds and disputes', async (world) => {
    const userId = await world.createUser(0)
    const topup = await openTopup(world, userId, whole)
    await tell(world, topup, paid(whole, { refunded: 10_000, disputed: 30_000 }))
    expect(await moneyOf(world, userId)).toEqual({ balance: 60_000, owed: 0 })
    const types = (await told(world, userId)).map(({ type }) => type)
    expect(types.toSorted()).toEqual(['credit.added', 'payment.disputed', 'payment.refunded', 'payment.succeeded'])
  })

  contractTest('restores and credits a lost top-up once, for existing accounts only', async (world) => {
    const userId = await world.createUser(0)
    const id = newId('top', world.clock.now())
    const state = { ...stateOf({ id }, { ...paid(whole), refunded: 100 }), paid: { amount: whole, currency: 'usd' } }
    const input = { state, provider: 'stripe', userId, isAuto: false, createdAt: world.clock.now() - day } as const
    const { payments } = world.store
    const outcomes = await Promise.all(Array.from({ length: 5 }, () => payments.restoreTopup(input)))
    expect(outcomes.map(({ outcome }) => outcome).toSorted()).toEqual(['applied', 'stale', 'stale', 'stale', 'stale'])
    expect(await moneyOf(world, userId)).toEqual({ balance: whole - 100, owed: 0 })
    expect(await payments.getTopup({ userId, topupId: id })).toMatchObject({
      status: 'paid',
      createdAt: input.createdAt,
    })
    const other = { ...state, topupId: newId('top', world.clock.now()) }
    expect(await payments.restoreTopup({ ...input, state: other, userId: 'user_gone' })).toMatchObject({
      outcome: 'unknown-account',
    })
    const euros = { ...other, paid: { amount: whole, currency: 'eur' } }
    expect(await payments.restoreTopup({ ...input, state: euros })).toMatchObject({ outcome: 'another-currency' })
    expect(await payments.countTopups({ userId })).toBe(1)
    expect(await world.verify()).toMatchObject({ ok: true })
  })

  contractTest('reports a low balance once until a credit raises it again', async (world) => {
    const userId = await world.createUser(1000)
    const lows = async () => (await told(world, userId)).filter(({ type }) => type === 'balance.low')
    await world.completed(userId, { cost: 500 })
    await world.store.payments.setNotifyBelow({ userId, notifyBelow: 400 })
    await world.completed(userId, { cost: 100 })
    expect(await lows()).toEqual([])
    await world.completed(userId, { cost: 1 })
    await world.completed(userId, { cost: 1 })
    // A task's refund does not count as a credit.
    await world.failed(userId, { cost: 100 })
    const credit = { userId, description: 'More', idempotencyKey: null }
    await world.store.credit({ ...credit, amount: 1 })
    await world.completed(userId, { cost: 1 })
    expect(await lows()).toEqual([{ type: 'balance.low', balanceUsd: '0.0399', notifyBelowUsd: '0.0400' }])
    await world.store.credit({ ...credit, amount: 10 })
    await world.store.credit({ ...credit, amount: -20 })
    expect(await lows()).toHaveLength(2)
    await world.store.payments.setNotifyBelow({ userId, notifyBelow: null })
    await world.store.credit({ ...credit, amount: 100 })
    await world.completed(userId, { cost: 100 })
    expect(await lows()).toHaveLength(2)
  })

  for (const { change, finds, title } of damages) {
    contractTest(
      `the ledger check finds ${title}`,
      async (world) => {
        const { topup, userId } = await spent(world, 0)
        await tell(world, topup, paid(whole, { refunded: 10_000 }))
        expect(await world.verify()).toMatchObject({ ok: true })
        await world.tamper(change({ userId, topupId: topup.id }))
        const { differences, ok } = await world.verify()
        expect(ok).toBe(false)
        expect(differences).toContainEqual(expect.objectContaining({ ...finds, userId }))
      },
      { tampers: true },
    )
  }
}
