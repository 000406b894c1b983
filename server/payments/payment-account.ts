import type { z } from 'zod'
import type { Caller } from '../procedures/caller.ts'
import { badField, ErrandError } from '../kernel/errors.ts'
import { formatUsd, parseUsd } from '../kernel/money.ts'
import { portOf, type PaymentParts } from './manage-topups.ts'
import type { PaymentAccount, UpdateAccountInput } from './payment-account-schema.ts'

export async function paymentAccountOf(parts: PaymentParts, userId: string): Promise<PaymentAccount | null> {
  const { amounts, port, store } = parts
  if (!port) return null
  const { methodLabel, recharge, rechargeOffReason } = await store.payments.getAccount(userId)
  return {
    minUsd: formatUsd(amounts.least),
    maxUsd: formatUsd(amounts.most),
    savedMethod: methodLabel,
    autoRecharge: recharge && {
      belowUsd: formatUsd(recharge.below),
      toUsd: formatUsd(recharge.to),
      monthlyMaxUsd: formatUsd(recharge.monthlyMax),
    },
    rechargeMonthlyMaxUsd: formatUsd(amounts.monthlyMax),
    autoRechargeOffReason: rechargeOffReason,
  }
}

type Update = { input: z.output<typeof UpdateAccountInput>; caller: Caller }

/** Changes the user's notification threshold and auto-recharge. If one change is invalid, stores neither. */
export async function updatePaymentAccount(parts: PaymentParts, { caller, input }: Update): Promise<void> {
  const { autoRecharge, notifyBelowUsd } = input
  const { userId } = caller
  const { store } = parts
  const recharge = autoRecharge && readRecharge(parts, autoRecharge)
  if (recharge !== undefined) {
    portOf(parts)
    if (recharge) assertMaySpend(caller)
    if ((await store.payments.setRecharge({ userId, recharge })) === 'no-method') {
      throw new ErrandError('CONFLICT', 'No payment method is saved. First make a top-up with savesMethod set to true.')
    }
  }
  if (notifyBelowUsd !== undefined) {
    const notifyBelow = notifyBelowUsd === null ? null : parseUsd(notifyBelowUsd)!
    await store.payments.setNotifyBelow({ userId, notifyBelow })
  }
}

/**
 * Throws unless the caller has a browser login or is a platform key. Auto-recharge charges the user's card, so a leaked
 * API key must not be able to enable it.
 */
function assertMaySpend({ credential: { kind } }: Caller): void {
  if (kind === 'login' || kind === 'acting') return
  const message =
    'Turning on auto-recharge requires a browser login. With an API key, you can only turn it off: send null.'
  throw new ErrandError('FORBIDDEN', message)
}

function readRecharge({ amounts }: PaymentParts, given: NonNullable<Update['input']['autoRecharge']>) {
  const [below, to, monthlyMax] = [parseUsd(given.belowUsd)!, parseUsd(given.toUsd)!, parseUsd(given.monthlyMaxUsd)!]
  if (below === 0) throw badField('autoRecharge.belowUsd', 'Must be greater than zero')
  if (to <= below) throw badField('autoRecharge.toUsd', 'Must be greater than belowUsd')
  if (to > amounts.most) {
    throw badField('autoRecharge.toUsd', `Must be at most ${formatUsd(amounts.most)} USD, the maximum per payment`)
  }
  if (monthlyMax < amounts.least) {
    const message = `Must be at least ${formatUsd(amounts.least)} USD, the minimum per payment`
    throw badField('autoRecharge.monthlyMaxUsd', message)
  }
  if (monthlyMax > amounts.monthlyMax) {
    const message = `Must be at most ${formatUsd(amounts.monthlyMax)} USD, the maximum of this service`
    throw badField('autoRecharge.monthlyMaxUsd', message)
  }
  return { below, to, monthlyMax }
}

/** Deletes the row first, because without it this service can no longer charge the payment method. */
export async function removePaymentMethod(parts: PaymentParts, userId: string): Promise<void> {
  const port = portOf(parts)
  const methodId = await parts.store.payments.forgetMethod({ userId })
  if (methodId !== null) await port.removeMethod(methodId)
}
