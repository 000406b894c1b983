import { z } from 'zod'
import {
  cursorInput,
  cursorOutput,
  isoTimestamp,
  pageInput,
  pageOutput,
  resourceId,
  usd,
} from '../kernel/wire-types.ts'
import { topupStatuses } from '../store/payments/payment-records.ts'

const topupId = resourceId.describe('The id returned when the top-up was created')

const amountUsd = z
  .string()
  .regex(/^\d{1,11}(?:\.\d{1,4})?$/, 'Must be a decimal of USD, in whole cents')
  .describe('In whole cents, within what the account says of `payments`')

export const TopupStatus = z.enum(topupStatuses)

export const Topup = z
  .object({
    id: z.string(),
    status: TopupStatus.describe(
      'Only `paid` is credited; one that `failed` or `expired` can still be paid, where the provider lets its page be used',
    ),
    amountUsd: usd.describe('What is credited when it is paid'),
    isAuto: z.boolean().describe('Whether it was made by auto-recharge'),
    checkoutUrl: z.string().nullable().describe('Where it is paid; null once it is paid, or cannot be any more'),
    receiptUrl: z.string().nullable().describe("The provider's receipt"),
    refundedUsd: usd.describe('What was given back of it, and taken from the balance'),
    disputedUsd: usd.describe('What a dispute has withdrawn of it, and is taken from the balance until it is won'),
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
    .describe("Where the payment page leads to, of the service's own origin or one that the operator allows"),
  savesMethod: z.boolean().default(false).describe('Whether what is paid with is kept for auto-recharge'),
})

export const TopupInput = z.object({ topupId })

export const ListTopupsInput = z.object({
  status: TopupStatus.optional().describe('Only top-ups in this state'),
  ...cursorInput,
})
export const ListTopupsOutput = z.object({ topups: z.array(Topup), ...pageOutput, ...cursorOutput })

export const UserTopup = Topup.extend({ userId: z.string(), email: z.string() }).meta({ id: 'UserTopup' })

export const ListAllTopupsInput = z.object({
  status: TopupStatus.optional().describe('Only top-ups in this state'),
  after: resourceId.optional().describe('The `next` of the page before'),
  limit: pageInput.limit,
  userId: resourceId.optional().describe('Only those of this user'),
  days: z.number().int().min(1).max(366).default(30).describe('How many days the totals are of'),
})
export const ListAllTopupsOutput = z.object({
  topups: z.array(UserTopup),
  limit: z.number().int(),
  ...cursorOutput,
  totals: z
    .object({
      paidUsd: usd,
      refundedUsd: usd.describe('Of what was paid in these days'),
      disputedUsd: usd.describe('Of what was paid in these days'),
      owedUsd: usd.describe('By all users, at present'),
      topups: z.number().int().describe('How many were paid'),
    })
    .describe('Of the last `days`, of all users'),
})
