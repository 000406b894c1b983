import { z } from 'zod'
import { usd } from '../kernel/wire-types.ts'

const positiveUsd = z.string().regex(/^\d{1,11}(?:\.\d{1,4})?$/, 'Must be a USD amount with at most four decimals')

export const AutoRecharge = z
  .object({
    belowUsd: usd.describe('Recharge when the balance falls below this amount'),
    toUsd: usd.describe('Target balance, within the maximum per payment and per month'),
    monthlyMaxUsd: usd.describe('Maximum total of recharges per UTC month'),
  })
  .meta({ id: 'AutoRecharge' })

export const UpdateAccountInput = z
  .object({
    notifyBelowUsd: positiveUsd
      .nullable()
      .optional()
      .describe('The event `balance.low` is sent when the balance falls below this amount; null for never'),
    autoRecharge: z
      .object({ belowUsd: positiveUsd, toUsd: positiveUsd, monthlyMaxUsd: positiveUsd })
      .nullable()
      .optional()
      .describe(
        'Requires a saved payment method, and a browser login or a platform key that acts on behalf of the user. An API key can only send null, which turns auto-recharge off',
      ),
  })
  .refine(({ autoRecharge, notifyBelowUsd }) => autoRecharge !== undefined || notifyBelowUsd !== undefined, {
    message: 'Must have notifyBelowUsd, autoRecharge or both',
  })

export const PaymentAccount = z
  .object({
    minUsd: usd.describe('Minimum amount of a top-up'),
    maxUsd: usd.describe('Maximum amount of a top-up'),
    savedMethod: z
      .string()
      .nullable()
      .describe('Brand and last digits of the saved payment method; null if there is none'),
    autoRecharge: AutoRecharge.nullable(),
    rechargeMonthlyMaxUsd: usd.describe('Maximum `monthlyMaxUsd` that the operator allows'),
    autoRechargeOffReason: z
      .string()
      .nullable()
      .describe(
        'Why the service turned auto-recharge off: a code of the payment provider, or `disputed`. Otherwise null',
      ),
  })
  .meta({ id: 'PaymentAccount' })
export type PaymentAccount = z.output<typeof PaymentAccount>
