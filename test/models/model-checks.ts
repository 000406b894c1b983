import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import type { Limits } from '../../server/app/config.ts'
import { expectOneEnd, priceOf, Talker, textOf, unitsOf } from '../chat/chat-checks.ts'
import { ModelProvider, reply, type Script } from '../support/model-provider.ts'
import { startService, type Person, type TestService } from '../support/test-service.ts'
import { modelAgents, secretKey } from './model-agents.ts'

const agentsFile = fileURLToPath(new URL('./model-agents.ts', import.meta.url))

export type ModelWorld = { provider: ModelProvider; service: TestService; stop: () => Promise<void> }

/** Starts a provider, and a service with agents that use its models, inline or in agent threads. */
export async function startModels({
  inThreads = false,
  limits = {},
}: { inThreads?: boolean; limits?: Partial<Limits> } = {}): Promise<ModelWorld> {
  const provider = await ModelProvider.start()
  process.env['TEST_MODEL_URL'] = provider.url
  const service = await startService({
    config: modelAgents(provider.url),
    ...(inThreads && { configFile: agentsFile }),
    limits: { executionsPerMinute: 0, abuseFailures: 0, ...limits },
  })
  const stop = async () => {
    await service.stop()
    await provider.stop()
  }
  return { provider, service, stop }
}

/** Matches text that must not appear in responses: the key, URLs, stack frames. */
export const internals = new RegExp(`${secretKey}|Zm9vYmFy|https?://|127\\.0\\.0\\.1|localhost|\\n\\s+at `)

/** Expects one line that ends like a sentence. */
export function expectSentence(message: string): void {
  expect(message).not.toMatch(internals)
  expect(message).toMatch(/^\S[^\n]{8,520}[.!?…]$/)
}

/**
 * Runs a chat, which must fail with one AGENT_ERROR and leave balance, session and ledger unchanged. Returns its
 * events.
 */
export async function expectFailedChat(talker: Talker, message: RegExp, text = 'Hello'): Promise<any[]> {
  const before = await talker.state()
  const events = await talker.chat(text)
  const end = expectOneEnd(events, 'error')
  expect(end).toMatchObject({ error: { code: 'AGENT_ERROR', message: expect.stringMatching(message) } })
  expect(end.costUsd).toBe('0.0000')
  expectSentence(end.error.message)
  expect(JSON.stringify(events)).not.toMatch(internals)
  expect(await talker.state()).toEqual(before)
  return events
}

/** Runs a task, which must fail with one AGENT_ERROR and be refunded. Returns its error. */
export async function expectFailedTask(
  service: TestService,
  { key }: Person,
  { endpointId = 'model.draft', message }: { endpointId?: string; message: RegExp },
): Promise<any> {
  const balance = (await service.get('/api/account', key)).body.balanceUsd
  const task = await service.runTask(key, endpointId, { subject: 'tea' })
  expect(task).toMatchObject({
    status: 'failed',
    error: { code: 'AGENT_ERROR', message: expect.stringMatching(message) },
  })
  expectSentence(task.error.message)
  expect(JSON.stringify(task)).not.toMatch(internals)
  expect((await service.get('/api/account', key)).body.balanceUsd).toBe(balance)
  const { transactions } = (await service.get(`/api/transactions?taskId=${task.id}`, key)).body
  expect(transactions.map(({ type }: any) => type)).toEqual(['task_refund', 'task_charge'])
  return task.error
}

/** Makes the provider respond again, and expects that the session continues and the ledger balances. */
export async function expectSound({ provider, service }: ModelWorld, talker: Talker, answer?: Script): Promise<void> {
  await talker.settled()
  provider.play(answer ?? reply({ text: ['Still here.'] }))
  const events = await talker.chat('Still there?')
  expectOneEnd(events, 'done')
  if (!answer) expect(textOf(events)).toBe('Still here.')
  expect(await service.app.store.verifyLedger()).toMatchObject({ ok: true, differences: [] })
}

/** Returns the session's only charge, which must match its breakdown. */
export async function onlyCharge(talker: Talker): Promise<any> {
  const [charge, ...more] = await talker.charges()
  expect(more).toEqual([])
  expect(-unitsOf(charge.amountUsd)).toBe(priceOf(charge.breakdown))
  return charge
}
