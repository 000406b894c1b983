import type { z } from 'zod'
import type { Caller } from '../procedures/caller.ts'
import type { OwnOrigins } from '../auth/logins/own-origin.ts'
import { unreachable } from '../kernel/assert.ts'
import { hashJson } from '../kernel/canonical-json.ts'
import { dateOf, isoTime, isoTimeOrNull, periodDays, type Clock } from '../kernel/clock.ts'
import { badField, ErrandError } from '../kernel/errors.ts'
import { newId } from '../kernel/ids.ts'
import type { Logger } from '../kernel/logger.ts'
import { formatUsd, parseUsd, unitsPerCent, unitsPerUsd, type Units } from '../kernel/money.ts'
import {
  unpaidTopupsMax,
  type CreateTopupResult,
  type PaidDay,
  type PaymentPeriod,
  type TopupOf,
  type TopupRecord,
} from '../store/payments/payment-types.ts'
import type { Store } from '../store/store.ts'
import { returnUrlCharsMax, type PaymentPort } from './payment-port.ts'
import type {
  CreateTopupInput,
  ListAllTopupsInput,
  ListAllTopupsOutput,
  ListTopupsInput,
  ListTopupsOutput,
  Topup,
} from './topup-schema.ts'

export type PaymentParts = {
  clock: Clock
  log: Logger
  /** Minimum and maximum amount of a top-up, and the operator's monthly maximum for auto-recharge. */
  amounts: { least: Units; most: Units; monthlyMax: Units }
  origins: OwnOrigins
  baseUrl: () => string
  port: PaymentPort | undefined
  returnOrigins: readonly string[]
  store: Store
}

const dayMs = 86_400_000
const daysPerRead = 30

export function portOf({ port }: Pick<PaymentParts, 'port'>): PaymentPort {
  if (port) return port
  throw new ErrandError('NOT_FOUND', 'This service does not accept payments. Ask an admin to add credit.')
}

type Create = { caller: Caller; idempotencyKey: string | null; input: z.output<typeof CreateTopupInput> }

/**
 * Creates a top-up and its payment page. A retry with the same Idempotency-Key returns the same page. The amount is
 * credited only when the provider reports the payment. If the page cannot be created, the top-up is closed, and a retry
 * reopens it. Upkeep closes top-ups that a crash left open.
 */
export async function createTopup(parts: PaymentParts, { caller, idempotencyKey, input }: Create): Promise<Topup> {
  const port = portOf(parts)
  const { clock, log, store } = parts
  const { credential, userId } = caller
  if (credential.kind === 'clientToken' && input.savesMethod)
    throw new ErrandError('FORBIDDEN', 'A client token cannot save a payment method. Omit savesMethod.')
  const amount = readAmount(parts, input.amountUsd)
  const returnUrl = readReturnUrl(parts, input.returnUrl)
  const idempotency = idempotencyKey === null ? null : { key: idempotencyKey, bodyHash: hashJson(input) }
  const topupId = newId('top', clock.now())
  const made = await store.payments.createTopup({ topupId, userId, provider: port.provider, amount, idempotency })
  if (made.outcome === 'refused') throw refusal(made)
  const { topup } = made
  const isClosed = topup.status !== 'open' && topup.status !== 'expired'
  if (topup.checkoutUrl !== null || isClosed) return toTopup(topup)
  const { customerId } = await store.payments.getAccount(userId)
  const { savesMethod } = input
  try {
    const page = await port.createCheckout({ topup, customerId, savesMethod, ...pageUrls(returnUrl, topup.id) })
    const noted = await store.payments.noteCheckout({ userId, topupId: topup.id, ...page })
    log.info({ userId, topupId: topup.id, amountUsd: formatUsd(amount) }, 'created a top-up')
    return toTopup(noted ?? { ...topup, ...page })
  } catch (error) {
    await store.payments.closePageless({ userId, topupId: topup.id })
    throw error
  }
}

function readAmount({ amounts }: PaymentParts, text: string): Units {
  const amount = parseUsd(text)
  if (amount === undefined || amount % unitsPerCent !== 0)
    throw badField('amountUsd', 'Must be a USD amount in whole cents')
  const { least, most } = amounts
  if (amount >= least && amount <= most) return amount
  throw badField('amountUsd', `Must be at least ${formatUsd(least)} USD and at most ${formatUsd(most)} USD`)
}

/**
 * Accepts only allowed origins. Otherwise, anyone with a leaked key could redirect payers from the payment page to any
 * site.
 */
function readReturnUrl({ baseUrl, origins, returnOrigins }: PaymentParts, text: string | undefined): string {
  if (text === undefined) return `${baseUrl()}/billing`
  const url = URL.parse(text)
  if (!url || !(origins.has(url.origin) || returnOrigins.includes(url.origin)) || url.username + url.password !== '') {
    throw badField(
      'returnUrl',
      "Must be a URL of the service's own origin or of an origin in ERRAND_PAYMENT_RETURN_ORIGINS",
    )
  }
  const { cancelUrl } = pageUrls(url.href, newId('top', 0))
  if (cancelUrl.length <= returnUrlCharsMax) return url.href
  throw badField('returnUrl', `Must have at most ${returnUrlCharsMax} characters when URL-encoded`)
}

/** Builds both redirect URLs. The cancel URL is the longer one, so only its length is checked. */
function pageUrls(returnUrl: string, topupId: string) {
  const successUrl = new URL(returnUrl)
  successUrl.searchParams.set('topup', topupId)
  const cancelUrl = new URL(successUrl)
  cancelUrl.searchParams.set('canceled', '1')
  return { successUrl: successUrl.href, cancelUrl: cancelUrl.href }
}

function refusal({ reason }: Extract<CreateTopupResult, { outcome: 'refused' }>): ErrandError {
  switch (reason) {
    case 'idempotency-conflict':
      return new ErrandError(
        'CONFLICT',
        'This Idempotency-Key was already used with a different request body. Send a new key.',
      )
    case 'suspended':
      return new ErrandError('FORBIDDEN', 'This account is suspended. Contact an admin.')
    case 'too-many': {
      const message = `You already have ${unpaidTopupsMax} unpaid top-ups from the last 24 hours. Pay one first.`
      return new ErrandError('CONFLICT', message)
    }
    case 'balance':
      return badField('amountUsd', 'Must not take the balance above 100 billion USD')
    default:
      return unreachable(reason)
  }
}

export async function getTopup(parts: PaymentParts, of: TopupOf): Promise<Topup> {
  portOf(parts)
  const topup = await parts.store.payments.getTopup(of)
  if (!topup) throw new ErrandError('NOT_FOUND', 'Top-up not found. Check the id.')
  return toTopup(topup)
}

export async function listTopups(
  parts: PaymentParts,
  { input, userId }: { input: z.output<typeof ListTopupsInput>; userId: string },
): Promise<z.output<typeof ListTopupsOutput>> {
  portOf(parts)
  const { after, limit, offset, status } = input
  if (after !== undefined && offset > 0) throw badField('after', 'Must be omitted if offset is set')
  const found = await readPage(parts, { ...input, userId })
  const total = await parts.store.payments.countTopups({ userId, ...(status && { status }) })
  return { ...found, topups: found.topups.map(toTopup), total, limit, offset }
}

export async function listAllTopups(
  parts: PaymentParts,
  { days, from, to, ...input }: z.output<typeof ListAllTopupsInput>,
): Promise<z.output<typeof ListAllTopupsOutput>> {
  const port = portOf(parts)
  const { clock, store } = parts
  const { fromDay, toDay } = periodDays({ days, from, to }, clock.now())
  const period = { from: fromDay * dayMs, until: toDay * dayMs }
  const found = await readPage(parts, { ...input, ...((from ?? to) !== undefined && period) })
  const paidDays = await sumDays(parts, period)
  const total = paidDays.reduce(
    (sum, one) => ({
      topups: sum.topups + one.topups,
      paid: sum.paid + one.paid,
      refunded: sum.refunded + one.refunded,
      disputed: sum.disputed + one.disputed,
    }),
    { topups: 0, paid: 0, refunded: 0, disputed: 0 },
  )
  return {
    ...found,
    topups: found.topups.map((one) => ({
      ...toTopup(one),
      userId: one.userId,
      email: one.email,
      dashboardUrl: one.paymentId && port.dashboardUrl(one.paymentId),
    })),
    limit: input.limit,
    totals: { ...toSums(total), owedUsd: formatUsd(await store.payments.totalOwed()) },
    days: paidDays.map((one) => ({ date: dateOf(one.day), ...toSums(one) })),
  }
}

/** Reads the period in chunks, so that other requests can run in between. */
async function sumDays({ store }: PaymentParts, { from, until }: PaymentPeriod): Promise<PaidDay[]> {
  const days: PaidDay[] = []
  for (let at = from; at < until; at += daysPerRead * dayMs) {
    if (at > from) await new Promise((resolve) => setImmediate(resolve))
    days.push(...(await store.payments.sumDays({ from: at, until: Math.min(until, at + daysPerRead * dayMs) })))
  }
  return days
}

function toSums({ disputed, paid, refunded, topups }: Omit<PaidDay, 'day'>) {
  return { topups, paidUsd: formatUsd(paid), refundedUsd: formatUsd(refunded), disputedUsd: formatUsd(disputed) }
}

type PageOf = Pick<z.output<typeof ListAllTopupsInput>, 'after' | 'limit' | 'status' | 'userId'> &
  Partial<PaymentPeriod> & { offset?: number }

async function readPage({ store }: PaymentParts, { after, limit, offset = 0, status, userId, ...period }: PageOf) {
  const named = { ...(userId !== undefined && { userId }), ...(status && { status }), ...(after && { after }) }
  const narrowed = { ...named, ...period }
  const found = await store.payments.listTopups({ ...narrowed, offset, limit: limit + 1 })
  const topups = found.slice(0, limit)
  const last = topups.at(-1)
  return { topups, ...(found.length > limit && last && { next: last.id }) }
}

export function toTopup(topup: TopupRecord): Topup {
  const { amount, checkoutUrl, createdAt, disputed, id, isAuto, paidAt, receiptUrl, refunded, status } = topup
  return {
    id,
    status,
    amountUsd: formatUsd(amount),
    isAuto,
    checkoutUrl: status === 'open' ? checkoutUrl : null,
    receiptUrl,
    refundedUsd: formatUsd(refunded),
    disputedUsd: formatUsd(disputed),
    createdAt: isoTime(createdAt),
    paidAt: isoTimeOrNull(paidAt),
  }
}

export function amountsOf(limits: Record<'topupMinUsd' | 'topupMaxUsd' | 'rechargeMonthlyMaxUsd', number>) {
  return {
    least: limits.topupMinUsd * unitsPerUsd,
    most: limits.topupMaxUsd * unitsPerUsd,
    monthlyMax: limits.rechargeMonthlyMaxUsd * unitsPerUsd,
  }
}
