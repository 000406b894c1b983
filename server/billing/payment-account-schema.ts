import { z } from 'zod'
import { usd } from '../kernel/wire-types.ts'

// How an account is topped up, on the wire.

const positiveUsd = z.string().regex(/^\d{1,11}(?:\.\d{1,4})?$/, 'Must be a decimal of USD with at most four digits')

export const AutoRecharge = z
  .object({
    belowUsd: usd.describe('Below this balance it is recharged'),
    toUsd: usd.describe('To this balance, as far as the limits of a payment and of the month allow it'),
    monthlyMaxUsd: usd.describe('In a month of UTC, no more than that'),
  })
  .meta({ id: 'AutoRecharge' })

export const UpdateAccountInput = z
  .object({
    notifyBelowUsd: positiveUsd
      .nullable()
      .optional()
      .describe('An event `balance.low` tells when the balance falls below it; null for never'),
    autoRecharge: z
      .object({ belowUsd: positiveUsd, toUsd: positiveUsd, monthlyMaxUsd: positiveUsd })
      .nullable()
      .optional()
      .describe('Needs a saved payment method; null switches it off'),
  })
  .refine(({ autoRecharge, notifyBelowUsd }) => autoRecharge !== undefined || notifyBelowUsd !== undefined, {
    message: 'Give notifyBelowUsd, autoRecharge or both',
  })

export const PaymentAccount = z
  .object({
    minUsd: usd.describe('Of one top-up'),
    maxUsd: usd.describe('Of one top-up'),
    savedMethod: z.string().nullable().describe('Brand and last digits of what is saved; null for nothing'),
    autoRecharge: AutoRecharge.nullable(),
    autoRechargeOffReason: z
      .string()
      .nullable()
      .describe('Why it was switched off by itself, in a word of the provider, or `disputed`; null where it was not'),
  })
  .meta({ id: 'PaymentAccount' })
export type PaymentAccount = z.output<typeof PaymentAccount>
