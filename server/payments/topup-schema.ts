import { z } from 'zod'
import {
  cursorInput,
  cursorOutput,
  day,
  isoTimestamp,
  pageInput,
  pageOutput,
  periodInput,
  resourceId,
  usd,
} from '../kernel/wire-types.ts'
import { topupStatuses } from '../store/payments/payment-types.ts'

const topupId = resourceId.describe('The id returned when the top-up was created')

const amountUsd = z
  .string()
  .regex(/^\d{1,11}(?:\.\d{1,4})?$/, 'Must be a USD amount in whole cents')
  .describe("Amount in whole cents, within the limits in the account's `payments`")

export const TopupStatus = z.enum(topupStatuses)

export const Topup = z
  .object({
    id: z.string(),
    status: TopupStatus.describe(
      'Only a `paid` top-up is credited. A `failed` or `expired` top-up can still become `paid` while its payment page accepts payments',
    ),
    amountUsd: usd.describe('Amount credited when the top-up is paid'),
    isAuto: z.boolean().describe('Whether auto-recharge created the top-up'),
    checkoutUrl: z
      .string()
      .nullable()
      .describe('URL of the payment page; null once the top-up is paid or can no longer be paid'),
    receiptUrl: z.string().nullable().describe("URL of the provider's receipt"),
    refundedUsd: usd.describe('Amount refunded and deducted from the balance'),
    disputedUsd: usd.describe('Amount in dispute, deducted from the balance until the dispute is won'),
    createdAt: isoTimestamp,
    paidAt: isoTimestamp.nullable(),
  })
  .meta({ id: 'Topup' })
export type Topup = z.output<typeof Topup>

export const CreateTopupInput = z.object({
  amountUsd,
  returnUrl: z
    .string()
    .min(1)
    .max(2000)
    .optional()
    .describe("URL to return to after payment; its origin must be the service's own or one that the operator allows"),
  savesMethod: z.boolean().default(false).describe('Whether to save the payment method for auto-recharge'),
})

export const TopupInput = z.object({ topupId })

export const ListTopupsInput = z.object({
  status: TopupStatus.optional().describe('Returns only top-ups with this status'),
  ...cursorInput,
})
export const ListTopupsOutput = z.object({ topups: z.array(Topup), ...pageOutput, ...cursorOutput })

export const UserTopup = Topup.extend({
  userId: z.string(),
  email: z.string(),
  dashboardUrl: z
    .string()
    .nullable()
    .describe("URL of the payment in the provider's dashboard; null until the provider has reported a payment"),
}).meta({ id: 'UserTopup' })

const paidSums = {
  topups: z.number().int().describe('Number of paid top-ups'),
  paidUsd: usd,
  refundedUsd: usd.describe('Refunded part of these payments, regardless of when it was refunded'),
  disputedUsd: usd.describe('Disputed part of these payments, regardless of when the dispute began'),
}

export const ListAllTopupsInput = z.object({
  status: TopupStatus.optional().describe('Returns only top-ups with this status'),
  after: resourceId.optional().describe('`next` from the previous page'),
  limit: pageInput.limit,
  userId: resourceId.optional().describe('Returns only top-ups of this user'),
  ...periodInput,
  days: z
    .number()
    .int()
    .min(1)
    .max(366)
    .default(30)
    .describe('Number of UTC days, ending with `to`; ignored if `from` is set'),
})
export const ListAllTopupsOutput = z.object({
  topups: z.array(UserTopup),
  limit: z.number().int(),
  ...cursorOutput,
  totals: z
    .object({ ...paidSums, owedUsd: usd.describe('Current debt of all users') })
    .describe('Totals for all users over the whole period'),
  days: z
    .array(z.object({ date: day, ...paidSums }))
    .describe('Totals for all users by the UTC day on which the top-ups were created; omits days without paid top-ups'),
})
