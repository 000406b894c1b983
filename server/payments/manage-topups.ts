import type { z } from 'zod'
import type { Caller } from '../auth/caller.ts'
import type { OwnOrigins } from '../auth/logins/own-origin.ts'
import { unreachable } from '../kernel/assert.ts'
import { hashJson } from '../kernel/canonical-json.ts'
import { isoTime, isoTimeOrNull, type Clock } from '../kernel/clock.ts'
import { badField, ErrandError } from '../kernel/errors.ts'
import { newId } from '../kernel/ids.ts'
import type { Logger } from '../kernel/logger.ts'
import { formatUsd, parseUsd, unitsPerUsd, type Units } from '../kernel/money.ts'
import {
  unpaidTopupsMax,
  type CreateTopupResult,
  type PaymentEvent,
  type TopupOf,
  type TopupRecord,
} from '../store/payment-records.ts'
import type { Store } from '../store/store.ts'
import type { PaymentPort } from './payment-port.ts'
import { unitsPerCent } from './stripe-events.ts'
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
  /** Of one top-up. */
  amounts: { least: Units; most: Units }
  origins: OwnOrigins
  baseUrl: () => string
  /** Undefined where nobody can pay. */
  port: PaymentPort | undefined
  /** Origins that people may be sent back to, beside the service's own. */
  returnOrigins: readonly string[]
  store: Store
}

const dayMs = 86_400_000

/** Throws NOT_FOUND where nobody can pay: then there is nothing of it. */
export function portOf({ port }: Pick<PaymentParts, 'port'>): PaymentPort {
  if (port) return port
  throw new ErrandError('NOT_FOUND', 'This service takes no payments.')
}

type Create = { caller: Caller; idempotencyKey: string | null; input: z.output<typeof CreateTopupInput> }

/**
 * Writes a top-up, and has the provider make the page where it is paid. Repeated with the same Idempotency-Key it answers
 * the same page. Nothing is credited before the provider says that it is paid.
 */
export async function createTopup(parts: PaymentParts, { caller, idempotencyKey, input }: Create): Promise<Topup> {
  const port = portOf(parts)
  const { clock, log, store } = parts
  const { userId } = caller
  const amount = readAmount(parts, input.amountUsd)
  const returnUrl = readReturnUrl(parts, input.returnUrl)
  const idempotency = idempotencyKey === null ? null : { key: idempotencyKey, bodyHash: hashJson(input) }
  const topupId = newId('top', clock.now())
  const made = await store.payments.createTopup({ topupId, userId, provider: port.provider, amount, idempotency })
  if (made.outcome === 'refused') throw refusal(made)
  const { topup } = made
  if (topup.checkoutUrl !== null || topup.status !== 'open') return toTopup(topup)
  const { customerId } = await store.payments.getAccount(userId)
  const page = await port.createCheckout({ topup, customerId, savesMethod: input.savesMethod, returnUrl })
  log.info({ userId, topupId: topup.id, amountUsd: formatUsd(amount) }, 'a top-up was begun')
  const noted = await store.payments.noteCheckout({ userId, topupId: topup.id, ...page })
  return toTopup(noted ?? { ...topup, ...page })
}

function readAmount({ amounts }: PaymentParts, text: string): Units {
  const amount = parseUsd(text)
  if (amount === undefined || amount % unitsPerCent !== 0) throw badField('amountUsd', 'Must be in whole cents of USD')
  const { least, most } = amounts
  if (amount >= least && amount <= most) return amount
  throw badField('amountUsd', `Must be at least ${formatUsd(least)} and at most ${formatUsd(most)}`)
}

/** Whoever holds a key could else send people from a payment page to wherever they like. */
function readReturnUrl({ baseUrl, origins, returnOrigins }: PaymentParts, text: string | undefined): string {
  if (text === undefined) return `${baseUrl()}/billing`
  const url = URL.parse(text)
  if (url && (origins.has(url.origin) || returnOrigins.includes(url.origin)) && url.username + url.password === '') {
    return url.href
  }
  throw badField('returnUrl', "Must be a URL of the service's own origin, or of ERRAND_PAYMENT_RETURN_ORIGINS")
}

function refusal({ reason }: Extract<CreateTopupResult, { outcome: 'refused' }>): ErrandError {
  switch (reason) {
    case 'idempotency-conflict':
      return new ErrandError('CONFLICT', 'This Idempotency-Key was used with another request body.')
    case 'suspended':
      return new ErrandError('FORBIDDEN', 'The account is suspended.')
    case 'too-many': {
      const message = `At most ${unpaidTopupsMax} top-ups that are not paid are made in 24 hours; pay one of them.`
      return new ErrandError('CONFLICT', message)
    }
    case 'balance':
      return badField('amountUsd', 'Would take the balance beyond 100 billion USD')
    default:
      return unreachable(reason)
  }
}

export async function getTopup(parts: PaymentParts, of: TopupOf): Promise<Topup> {
  portOf(parts)
  const topup = await parts.store.payments.getTopup(of)
  if (!topup) throw new ErrandError('NOT_FOUND', 'Top-up not found')
  return toTopup(topup)
}

export async function listTopups(
  parts: PaymentParts,
  { input, userId }: { input: z.output<typeof ListTopupsInput>; userId: string },
): Promise<z.output<typeof ListTopupsOutput>> {
  portOf(parts)
  const { after, limit, offset, status } = input
  if (after !== undefined && offset > 0) throw badField('after', 'Must not be given beside an offset')
  const found = await readPage(parts, { ...input, userId })
  const total = await parts.store.payments.countTopups({ userId, ...(status && { status }) })
  return { ...found, topups: found.topups.map(toTopup), total, limit, offset }
}

/** For admins: of all users, with what came in, went back and is owed. */
export async function listAllTopups(
  parts: PaymentParts,
  { days, ...input }: z.output<typeof ListAllTopupsInput>,
): Promise<z.output<typeof ListAllTopupsOutput>> {
  portOf(parts)
  const { clock, store } = parts
  const found = await readPage(parts, input)
  const { disputed, owed, paid, refunded, topups } = await store.payments.totals(clock.now() - days * dayMs)
  return {
    ...found,
    topups: found.topups.map((one) => ({ ...toTopup(one), userId: one.userId, email: one.email })),
    limit: input.limit,
    totals: {
      paidUsd: formatUsd(paid),
      refundedUsd: formatUsd(refunded),
      disputedUsd: formatUsd(disputed),
      owedUsd: formatUsd(owed),
      topups,
    },
  }
}

type PageOf = Omit<z.output<typeof ListAllTopupsInput>, 'days'> & { offset?: number }

async function readPage({ store }: PaymentParts, { after, limit, offset = 0, status, userId }: PageOf) {
  const narrowed = { ...(userId !== undefined && { userId }), ...(status && { status }), ...(after && { after }) }
  const found = await store.payments.listTopups({ ...narrowed, offset, limit: limit + 1 })
  const topups = found.slice(0, limit)
  const last = topups.at(-1)
  return { topups, ...(found.length > limit && last && { next: last.id }) }
}

/**
 * Takes in what a provider told. What only the provider knows is asked for before: of which top-up a payment is, and what
 * it was paid with.
 */
export async function takeEvent(parts: EventParts, told: PaymentEvent): Promise<void> {
  const { log, port, store } = parts
  const { event, topup } = await resolveTopup(parts, told)
  if (topup?.status !== 'paid' && event.change.kind === 'paid' && event.paymentId !== null) {
    // That it is paid counts, and not what with.
    const details = await port?.detailsOf(event.paymentId).catch((error: unknown) => {
      log.warn({ err: error, topupId: topup?.id }, 'the receipt of a top-up could not be read; reconcile reads it')
      return undefined
    })
    event.change = { ...event.change, ...details }
  }
  const { outcome } = await store.payments.applyEvent(event)
  const about = { eventId: event.eventId, type: event.type, topupId: topup?.id, outcome }
  if (outcome.startsWith('another')) log.error(about, 'a payment event does not fit its top-up; nothing was changed')
  else log.info(about, 'a payment event was taken in')
}

type EventParts = Pick<PaymentParts, 'log' | 'port' | 'store'>

/** The top-up that an event is of; one that names only a payment is looked up at the provider, where we do not know it. */
export async function resolveTopup(
  { port, store }: Pick<PaymentParts, 'port' | 'store'>,
  told: PaymentEvent,
): Promise<{ event: PaymentEvent; topup: TopupRecord | undefined }> {
  const topup = await store.payments.findTopup(told)
  const { paymentId, topupId } = told
  if (topup || topupId !== null || paymentId === null || !port) return { event: { ...told }, topup }
  const event = { ...told, topupId: await port.topupOfPayment(paymentId) }
  return { event, topup: await store.payments.findTopup(event) }
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

/** As the limits of the configuration give them. */
export function amountsOf({ topupMaxUsd, topupMinUsd }: Record<'topupMinUsd' | 'topupMaxUsd', number>) {
  return { least: topupMinUsd * unitsPerUsd, most: topupMaxUsd * unitsPerUsd }
}
