import { z } from 'zod'
import { usd } from '../kernel/wire-types.ts'

const positiveUsd = z.string().regex(/^\d{1,11}(?:\.\d{1,4})?$/, 'Must be a decimal of USD with at most four digits')

export const AutoRecharge = z
  .object({
    belowUsd: usd.describe('Recharges below this balance'),
    toUsd: usd.describe('Target balance, within the limits of one payment and of the month'),
    monthlyMaxUsd: usd.describe('Maximum of all recharges in a UTC month'),
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
      .describe(
        'Needs a browser login and a saved payment method. An API key may only send null, which switches it off',
      ),
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
    rechargeMonthlyMaxUsd: usd.describe("Operator's maximum of `monthlyMaxUsd`"),
    autoRechargeOffReason: z
      .string()
      .nullable()
      .describe('Why the service switched it off: a code of the provider, or `disputed`. Null if it did not'),
  })
  .meta({ id: 'PaymentAccount' })
export type PaymentAccount = z.output<typeof PaymentAccount>
