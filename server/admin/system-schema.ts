import { z } from 'zod'
import { agentKinds } from '../agents/config/catalogue.ts'
import { WrittenRates } from '../billing/written-rates.ts'
import { isoTimestamp, usd } from '../kernel/wire-types.ts'

const count = z.number().int()
const bytes = z.number().int()

export const System = z
  .object({
    version: z.string(),
    nodeVersion: z.string(),
    startedAt: isoTimestamp,
    uptimeSeconds: z.number(),
    accepting: z.boolean().describe('False while the service is stopping'),
    tasks: z.object({ pending: count, processing: count }),
    openTurns: count.describe('Replies in progress'),
    agentThreads: z
      .array(z.object({ id: count, running: count, isResponding: z.boolean() }))
      .describe('Empty if agents run in the main thread'),
    memory: z.object({ residentBytes: bytes, heapUsedBytes: bytes }),
    eventLoopDelayMs: z
      .object({ p50: z.number(), p99: z.number() })
      .describe('Event-loop delay of the main thread over the last few minutes'),
    database: z.object({ bytes, walBytes: bytes }),
    ledger: z
      .object({
        ok: z.boolean(),
        checkedAt: isoTimestamp,
        differences: count,
        balanceUsd: usd.describe('Sum of the balances of all users'),
      })
      .nullable()
      .describe('Result of the last check; null until the first one finishes'),
    mail: z
      .object({
        waiting: count.describe('Emails not yet sent'),
        failed: count.describe('Emails from the last four days that could not be delivered'),
        lastError: z.object({ message: z.string(), at: isoTimestamp }).nullable(),
      })
      .nullable()
      .describe('Null if the service does not send email'),
    lastDay: z
      .object({
        since: isoTimestamp.describe('When the responding process started counting'),
        hours: z.array(
          z.object({
            start: isoTimestamp,
            queued: count.describe('Highest number of queued tasks of all processes, sampled once a minute'),
            waitP95Ms: z.number().nullable().describe('95th percentile of the queue time of the newest 1,000 tasks'),
            ended: count,
            failed: count,
          }),
        ),
      })
      .describe('Hourly task runs of the responding process in the last 24 hours, newest first, without idle hours'),
    newestFailures: z
      .array(
        z.object({
          taskId: z.string(),
          userId: z.string(),
          email: z.string(),
          endpointId: z.string(),
          errorCode: z.string(),
          failedAt: isoTimestamp,
        }),
      )
      .describe('The newest 20 failed tasks of all users, excluding canceled and expired tasks'),
    users: z.object({ total: count, suspended: count }),
    agents: z.array(
      z.object({
        id: z.string(),
        name: z.string(),
        kind: z.enum(agentKinds),
        visibility: z.union([z.literal('public'), z.array(z.string())]),
        endpoints: z.array(z.object({ id: z.string(), priceUsd: usd })),
        chatPricing: WrittenRates.nullable(),
      }),
    ),
    plans: z
      .array(
        z.object({
          name: z.string(),
          isDefault: z.boolean().describe('Whether the plan applies to users without a plan'),
          executionsPerMinute: count.nullable().describe('0 for no limit; null for the default of the service'),
          tasksAtWork: count.nullable(),
          tasksWaiting: count.nullable(),
          spendPerDayUsd: usd.nullable(),
          agents: z.array(z.string()).nullable().describe('Null for all agents'),
        }),
      )
      .describe('Plans of the configuration; a limit of null means no limit'),
  })
  .meta({ id: 'System' })
export type System = z.output<typeof System>
