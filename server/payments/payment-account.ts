import type { z } from 'zod'
import { badField, ErrandError } from '../kernel/errors.ts'
import { formatUsd, parseUsd } from '../kernel/money.ts'
import { portOf, type PaymentParts } from './manage-topups.ts'
import type { PaymentAccount, UpdateAccountInput } from '../billing/payment-account-schema.ts'

/** How the user pays; null where nobody can. */
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
    autoRechargeOffReason: rechargeOffReason,
  }
}

type Update = { input: z.output<typeof UpdateAccountInput>; userId: string }

/** Changes what the owner is told of, and when the balance is recharged. Throws before anything is written. */
export async function updatePaymentAccount(parts: PaymentParts, { input, userId }: Update): Promise<void> {
  const { autoRecharge, notifyBelowUsd } = input
  const { store } = parts
  const recharge = autoRecharge && readRecharge(parts, autoRecharge)
  if (recharge !== undefined) {
    portOf(parts)
    if ((await store.payments.setRecharge({ userId, recharge })) === 'no-method') {
      throw new ErrandError('CONFLICT', 'Nothing is saved to pay with; make a top-up with savesMethod first.')
    }
  }
  if (notifyBelowUsd !== undefined) {
    const notifyBelow = notifyBelowUsd === null ? null : parseUsd(notifyBelowUsd)!
    await store.payments.setNotifyBelow({ userId, notifyBelow })
  }
}

function readRecharge({ amounts }: PaymentParts, given: NonNullable<Update['input']['autoRecharge']>) {
  const [below, to, monthlyMax] = [parseUsd(given.belowUsd)!, parseUsd(given.toUsd)!, parseUsd(given.monthlyMaxUsd)!]
  if (below === 0) throw badField('autoRecharge.belowUsd', 'Must be more than zero')
  if (to <= below) throw badField('autoRecharge.toUsd', 'Must be more than belowUsd')
  if (monthlyMax < amounts.least) {
    const least = formatUsd(amounts.least)
    throw badField('autoRecharge.monthlyMaxUsd', `Must be at least ${least}, the least that is paid at a time`)
  }
  return { below, to, monthlyMax }
}

/** Forgets what is paid with, here first: what stays at the provider is of no use to anybody. */
export async function removePaymentMethod(parts: PaymentParts, userId: string): Promise<void> {
  const port = portOf(parts)
  const methodId = await parts.store.payments.forgetMethod(userId)
  if (methodId !== null) await port.removeMethod(methodId)
}
