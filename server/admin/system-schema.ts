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
    openTurns: count.describe('Chat replies in progress'),
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
        waiting: count.describe('Mails not yet sent'),
        failed: count.describe('Mails of the last days that were given up'),
        lastError: z.object({ message: z.string(), at: isoTimestamp }).nullable(),
      })
      .nullable()
      .describe('Null if the service sends no mail'),
    lastDay: z
      .object({
        since: isoTimestamp.describe('When the process that answers started to count'),
        hours: z.array(
          z.object({
            start: isoTimestamp,
            queued: count.describe('Most tasks queued at a time, of all processes, looked up once a minute'),
            waitP95Ms: z.number().nullable().describe('95th percentile of the waits of the newest 1,000 tasks'),
            ended: count,
            failed: count,
          }),
        ),
      })
      .describe('Task runs of the process that answers in the last 24 hours, newest first, without idle hours'),
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
      .describe('The newest 20 failed tasks of all users, except canceled and expired ones'),
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
  })
  .meta({ id: 'System' })
export type System = z.output<typeof System>
