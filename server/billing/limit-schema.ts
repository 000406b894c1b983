import { z } from 'zod'
import { formatUsd, parseUsd } from '../kernel/money.ts'
import { isoTime, isoTimeOrNull } from '../kernel/clock.ts'
import { isoTimestamp, maxCostUsd, usd } from '../kernel/wire-types.ts'
import { executionsPerMinuteMax, tasksMax, type AccountLimits, type Plans } from '../store/limits/account-limits.ts'
import type { ChangeAccountLimits, LimitsState } from '../store/limits/limit-inputs.ts'

/** Max agents of a key or a user. Bounded because each list item includes them. */
const agentsMax = 50
const count = z.number().int()

export const agentIds = z.array(z.string().min(1).max(63)).min(1).max(agentsMax)

/** Limits that override those of the plan; null removes one. */
export const OwnLimitsInput = z.object({
  executionsPerMinute: z
    .number()
    .int()
    .min(0)
    .max(executionsPerMinuteMax)
    .nullable()
    .optional()
    .describe('Tasks and chats that the user may begin; 0 for no limit'),
  tasksAtWork: z
    .number()
    .int()
    .min(1)
    .max(tasksMax)
    .nullable()
    .optional()
    .describe('Tasks that agents are at work on at the same time; further ones wait'),
  tasksWaiting: z
    .number()
    .int()
    .min(1)
    .max(tasksMax)
    .nullable()
    .optional()
    .describe('Tasks that may wait; further ones are refused'),
  spendPerDayUsd: maxCostUsd.nullable().optional().describe('What may be spent on a day of UTC'),
  agents: agentIds.nullable().optional().describe('Ids of the agents that the user may run'),
})

export const OwnLimits = z
  .object({
    executionsPerMinute: count.optional(),
    tasksAtWork: count.optional(),
    tasksWaiting: count.optional(),
    spendPerDayUsd: usd.optional(),
    agents: z.array(z.string()).optional(),
  })
  .meta({ id: 'OwnLimits', description: 'Limits of one user that hold in the place of those of the plan' })

export const Limits = z
  .object({
    plan: z.string().nullable().describe('The plan that holds; null where the service has none for the account'),
    executionsPerMinute: count.describe('Tasks and chats in any 60 seconds; 0 when there is no limit'),
    tasksAtWork: count.nullable().describe('Tasks that agents are at work on at the same time; null without a limit'),
    tasksWaiting: count.nullable().describe('Tasks that may wait; null without a limit'),
    spendPerDayUsd: usd.nullable().describe('What may be spent on a day of UTC; null without a limit'),
    agents: z.array(z.string()).nullable().describe('Ids of the agents that may be run; null for all'),
    payloadBytesPerDay: count
      .nullable()
      .describe('Bytes of large requests, large results and files stored on a day of UTC; null without a limit'),
    used: z.object({
      tasksAtWork: count,
      tasksWaiting: count,
      payloadBytesToday: count.describe('Bytes of payloads stored today, which `payloadBytesPerDay` limits'),
      spentTodayUsd: usd.nullable().describe('Charged and held of `spendPerDayUsd`; null without that limit'),
    }),
    payloadsResetAt: isoTimestamp.nullable().describe('When `payloadBytesPerDay` begins anew; null without that limit'),
    spendResetsAt: isoTimestamp.nullable().describe('When `spendPerDayUsd` begins anew; null without that limit'),
  })
  .meta({ id: 'Limits' })

export function changesOf(input: z.output<typeof OwnLimitsInput>): ChangeAccountLimits['changes'] {
  const { spendPerDayUsd, ...rest } = input
  const given = Object.entries(rest).filter(([, value]) => value !== undefined)
  return {
    ...(Object.fromEntries(given) as Partial<AccountLimits>),
    ...(spendPerDayUsd !== undefined && { spendPerDay: spendPerDayUsd === null ? null : parseUsd(spendPerDayUsd)! }),
  }
}

export function toOwnLimits({ agents, spendPerDay, ...counts }: Partial<AccountLimits>): z.output<typeof OwnLimits> {
  return {
    ...(counts as z.output<typeof OwnLimits>),
    ...(spendPerDay !== undefined && spendPerDay !== null && { spendPerDayUsd: formatUsd(spendPerDay) }),
    ...(agents && { agents: [...agents] }),
  }
}

/** Name of the plan that applies to a user. */
export function planNameOf(plan: string | null, { defaultName, named }: Plans): string | null {
  return plan !== null && named.has(plan) ? plan : defaultName
}

export function toLimits(state: LimitsState, plans: Plans): z.output<typeof Limits> {
  const { limits, payloads, plan, spend, tasksAtWork, tasksWaiting } = state
  const hasPayloadLimit = payloads.limit > 0
  const { agents, executionsPerMinute, spendPerDay } = limits
  return {
    plan: planNameOf(plan, plans),
    executionsPerMinute,
    tasksAtWork: limits.tasksAtWork,
    tasksWaiting: limits.tasksWaiting,
    spendPerDayUsd: spendPerDay === null ? null : formatUsd(spendPerDay),
    agents: agents && [...agents],
    payloadBytesPerDay: hasPayloadLimit ? payloads.limit : null,
    payloadsResetAt: hasPayloadLimit ? isoTime(payloads.resetsAt) : null,
    used: {
      tasksAtWork,
      tasksWaiting,
      payloadBytesToday: payloads.bytes,
      spentTodayUsd: spend && formatUsd(spend.charged + spend.held),
    },
    spendResetsAt: isoTimeOrNull(spend && spend.resetsAt),
  }
}
