import { z } from 'zod'
import { formatUsd, parseUsd } from '../kernel/money.ts'
import { isoTime, isoTimeOrNull } from '../kernel/clock.ts'
import { isoTimestamp, maxCostUsd, usd } from '../kernel/wire-types.ts'
import { executionsPerMinuteMax, tasksMax, type AccountLimits, type Plans } from '../store/limits/account-limits.ts'
import type { ChangeAccountLimits, LimitsState } from '../store/limits/limit-types.ts'

/**
 * Maximum length of a key's or user's agent allowlist. List responses contain these allowlists, so they must be short.
 */
const agentsMax = 50
const count = z.number().int()

export const agentIds = z.array(z.string().min(1).max(63)).min(1).max(agentsMax)

/** Limits of one user, which override the limits of the plan. Null removes an override. */
export const OwnLimitsInput = z.object({
  executionsPerMinute: z
    .number()
    .int()
    .min(0)
    .max(executionsPerMinuteMax)
    .nullable()
    .optional()
    .describe('Maximum number of tasks and turns in any 60 seconds; 0 for no limit'),
  tasksAtWork: z
    .number()
    .int()
    .min(1)
    .max(tasksMax)
    .nullable()
    .optional()
    .describe('Maximum number of tasks running at the same time; further tasks are queued'),
  tasksWaiting: z
    .number()
    .int()
    .min(1)
    .max(tasksMax)
    .nullable()
    .optional()
    .describe('Maximum number of queued tasks; further tasks are rejected'),
  spendPerDayUsd: maxCostUsd.nullable().optional().describe('Spending limit per UTC day'),
  agents: agentIds.nullable().optional().describe('Ids of the agents that the user can run'),
})

export const OwnLimits = z
  .object({
    executionsPerMinute: count.optional(),
    tasksAtWork: count.optional(),
    tasksWaiting: count.optional(),
    spendPerDayUsd: usd.optional(),
    agents: z.array(z.string()).optional(),
  })
  .meta({ id: 'OwnLimits', description: 'Limits of one user, which override those of the plan' })

export const Limits = z
  .object({
    plan: z.string().nullable().describe('The plan that applies; null if the account has none'),
    executionsPerMinute: count.describe('Maximum number of tasks and turns in any 60 seconds; 0 if there is no limit'),
    tasksAtWork: count
      .nullable()
      .describe('Maximum number of tasks running at the same time; null if there is no limit'),
    tasksWaiting: count.nullable().describe('Maximum number of queued tasks; null if there is no limit'),
    spendPerDayUsd: usd.nullable().describe('Spending limit per UTC day; null if there is none'),
    agents: z.array(z.string()).nullable().describe('Ids of the agents that the account can run; null for all'),
    payloadBytesPerDay: count
      .nullable()
      .describe(
        'Maximum total size in bytes of the large requests, large results and files stored per UTC day; null if there is no limit',
      ),
    used: z.object({
      tasksAtWork: count,
      tasksWaiting: count,
      payloadBytesToday: count.describe('Bytes stored today that count toward `payloadBytesPerDay`'),
      spentTodayUsd: usd.nullable().describe('Amount charged and held today; null if there is no `spendPerDayUsd`'),
    }),
    payloadsResetAt: isoTimestamp
      .nullable()
      .describe('When `payloadBytesPerDay` resets; null if there is no such limit'),
    spendResetsAt: isoTimestamp.nullable().describe('When `spendPerDayUsd` resets; null if there is no such limit'),
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
