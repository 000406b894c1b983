import { ErrandError } from '../kernel/errors.ts'
import type { AppliedState, PaymentState, TopupRecord, TopupRef } from '../store/payments/payment-types.ts'
import { portOf, type PaymentParts } from './manage-topups.ts'
import type { FoundPayment } from './payment-port.ts'

/**
 * Maximum number of attempts to apply a state. If several events for one top-up arrive simultaneously, only one
 * succeeds, and the others read the state again. After the last attempt the request fails, and the provider resends the
 * event.
 */
const triesMax = 8

export type RefreshParts = Pick<PaymentParts, 'log' | 'port' | 'store'>

type Refresh = { ref: TopupRef; about: object }

export async function refreshTopup(parts: RefreshParts, { about, ref: named }: Refresh): Promise<void> {
  const { log } = parts
  const ref = await resolveRef(parts, named)
  if (!ref) {
    log.info(about, 'received a payment event for a payment that this service did not create')
    return
  }
  for (let tries = 0; tries < triesMax; tries++) {
    const { found, topup } = await readTopup(parts, ref)
    if (!topup) {
      log.info({ ...about, topupId: ref.topupId }, 'received a payment event for an unknown top-up')
      return
    }
    if (!found) {
      log.warn({ ...about, topupId: topup.id }, 'a top-up is unknown to the payment provider')
      return
    }
    const { outcome } = await applyState(parts, { topup, state: found.state, about })
    if (outcome !== 'stale') return
  }
  const message = 'Other requests are changing the top-up. Send the event again.'
  throw new ErrandError('SERVICE_UNAVAILABLE', message, { retryAfterSeconds: 1 })
}

type Apply = { topup: TopupRecord; state: PaymentState; about: object }

/** Applies a state from the provider. The caller must have read the row `topup` before reading the state. */
export async function applyState({ log, store }: RefreshParts, { about, state, topup }: Apply): Promise<AppliedState> {
  const applied = await store.payments.applyState({ state, version: topup.version })
  const { outcome } = applied
  const fields = { ...about, topupId: topup.id, outcome }
  if (outcome.startsWith('another') || outcome === 'not-paid') {
    log.error(fields, 'a payment at the provider does not match its top-up; nothing was changed')
  } else log.info(fields, 'read the state of a top-up')
  return applied
}

/**
 * Reads the top-up before the provider's state. In the opposite order, an outdated state could be paired with a newer
 * row and pass the version check.
 */
export async function readTopup(
  parts: RefreshParts,
  ref: TopupRef & { topupId: string },
): Promise<{ topup: TopupRecord | undefined; found: FoundPayment | undefined }> {
  const { topupId } = ref
  const topup = await parts.store.payments.findTopup({ topupId, checkoutId: null, paymentId: null })
  const of = {
    topupId,
    checkoutId: topup?.checkoutId ?? ref.checkoutId,
    paymentId: topup?.paymentId ?? ref.paymentId,
  }
  return { topup, found: await portOf(parts).stateOf(of) }
}

/**
 * Looks up the top-up if the reference contains only a payment id. Returns undefined if this service did not create the
 * payment.
 */
export async function resolveRef(
  parts: RefreshParts,
  ref: TopupRef,
): Promise<(TopupRef & { topupId: string }) | undefined> {
  const known = ref.topupId ?? (await parts.store.payments.findTopup(ref))?.id
  const topupId = known ?? (ref.paymentId === null ? null : await portOf(parts).topupOfPayment(ref.paymentId))
  return topupId === null ? undefined : { ...ref, topupId }
}
