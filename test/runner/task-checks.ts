import { existsSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import type { TestService } from '../support/test-service.ts'

export const rogueFile = fileURLToPath(new URL('./rogue-agents.ts', import.meta.url))

/** For `expect.poll`: long enough for a busy machine. */
export const soon = { timeout: 20_000, interval: 5 }

/** Disables account limits, which these tests do not cover. */
export const unlimited = {
  executionsPerMinute: 0,
  abuseFailures: 0,
  connectorBlockSeconds: 0,
  connectorTasksAtWork: 0,
} as const

/** Returns files in the data directory, through which a test and a rogue agent's run communicate. */
export function signalFiles(dataDir: string): { begun: string; release: string } {
  const folder = mkdtempSync(join(existsSync(dataDir) ? dataDir : tmpdir(), 'run-'))
  return { begun: join(folder, 'begun'), release: join(folder, 'release') }
}

export async function untilBegun({ begun }: { begun: string }): Promise<void> {
  await expect.poll(() => existsSync(begun), soon).toBe(true)
}

/** Returns the types and amounts of a task's transactions, oldest first. */
export async function moneyOf(service: TestService, key: string, taskId: string): Promise<[string, string][]> {
  const { body } = await service.get(`/api/transactions?taskId=${taskId}`, key)
  return body.transactions
    .map(({ amountUsd, type }: { amountUsd: string; type: string }) => [type, amountUsd])
    .toReversed()
}

export const chargedOnce = [['task_charge', '-0.0100']]
export const refundedOnce = [
  ['task_charge', '-0.0100'],
  ['task_refund', '0.0100'],
]

/** Expects that the ledger balances and that the service still runs tasks. */
export async function expectSound(service: TestService, key: string, endpointId = 'rogue.echo'): Promise<void> {
  expect(await service.runTask(key, endpointId, { still: 'here' })).toMatchObject({
    status: 'completed',
    response: { still: 'here' },
  })
  expect((await service.app.store.verifyLedger()).differences).toEqual([])
}
