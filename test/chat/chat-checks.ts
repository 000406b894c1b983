import { mkdtempSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { must } from '../../server/kernel/assert.ts'
import { parseUsd } from '../../server/kernel/money.ts'
import chatAgents, { say, type Step } from '../support/chat-agents.ts'
import { ChatReader } from '../support/chat-reader.ts'
import { startService, type Person, type TestService } from '../support/test-service.ts'

const chatFile = fileURLToPath(new URL('../support/chat-agents.ts', import.meta.url))

/** For `expect.poll`: long enough for a busy machine. */
export const soon = { timeout: 20_000, interval: 5 }

export const isoMs = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

type TalkOptions = Parameters<typeof startService>[0] & { isInline?: boolean }

/** Starts a service, with inline agents by default, because threads take a while to start. */
export async function startTalk({ isInline = true, limits, ...options }: TalkOptions = {}): Promise<TestService> {
  return await startService({
    config: chatAgents,
    ...(!isInline && { configFile: chatFile }),
    limits: { executionsPerMinute: 0, maxReplyBytes: 52_428_800, ...limits },
    ...options,
  })
}

export class Talker {
  readonly service: TestService
  readonly person: Person
  readonly sessionId: string

  private constructor(service: TestService, person: Person, sessionId: string) {
    this.service = service
    this.person = person
    this.sessionId = sessionId
  }

  static async create(
    service: TestService,
    {
      agentId = 'talk',
      person,
      ...of
    }: { agentId?: string; person?: Person; balanceUsd?: string; email?: string } = {},
  ): Promise<Talker> {
    const who = person ?? (await service.createPerson(of))
    const { body, status } = await service.post('/api/sessions', { agentId }, { key: who.key })
    expect(status, JSON.stringify(body)).toBe(200)
    return new Talker(service, who, body.sessionId)
  }

  another(agentId = 'talk'): Promise<Talker> {
    return Talker.create(this.service, { agentId, person: this.person })
  }

  get key(): string {
    return this.person.key
  }

  open(message: unknown, more: { params?: unknown; headers?: Record<string, string>; isPaused?: boolean } = {}) {
    const { headers = {}, isPaused = false, params } = more
    const body = { sessionId: this.sessionId, message, ...(params !== undefined && { params }) }
    return ChatReader.open({ url: this.service.url, key: this.key, body, headers, isPaused })
  }

  do(...steps: Step[]): Promise<ChatReader> {
    return this.open(say(...steps))
  }

  /** Runs a complete chat, which must be admitted, and returns its events. */
  async chat(message: unknown, params?: unknown): Promise<any[]> {
    const reader = await this.open(message, { params })
    expect(reader.status, reader.text).toBe(200)
    return await reader.all()
  }

  async session(): Promise<any> {
    return (await this.service.get(`/api/sessions/${this.sessionId}`, this.key)).body
  }

  async messages(): Promise<any[]> {
    return (await this.service.get(`/api/sessions/${this.sessionId}/messages`, this.key)).body.messages
  }

  async charges(): Promise<any[]> {
    return (await this.service.get(`/api/transactions?sessionId=${this.sessionId}`, this.key)).body.transactions
  }

  async account(): Promise<{ balanceUsd: string; heldUsd: string }> {
    const { balanceUsd, heldUsd } = (await this.service.get('/api/account', this.key)).body
    return { balanceUsd, heldUsd }
  }

  async settled(): Promise<void> {
    await expect.poll(async () => (await this.account()).heldUsd, soon).toBe('0.0000')
  }

  /** Returns the state that rejected or free chats do not change. */
  async state(): Promise<object> {
    const { messageCount, updatedAt } = await this.session()
    return {
      ...(await this.account()),
      messageCount,
      updatedAt,
      messages: await this.messages(),
      charges: await this.charges(),
    }
  }
}

export function textOf(events: readonly any[], type = 'assistant_delta'): string {
  return events
    .filter((event) => event.type === type)
    .map(({ delta }) => delta)
    .join('')
}

/** Expects exactly one terminal event, in last position, and returns it. */
export function expectOneEnd(events: readonly any[], type: 'done' | 'error'): any {
  expect(events.filter((event) => event.type === 'done' || event.type === 'error')).toEqual([events.at(-1)])
  expect(events.at(-1)?.type, JSON.stringify(events.at(-1))).toBe(type)
  return events.at(-1)
}

const billionthsPerUnit = 100_000n

/**
 * Computes the price from the receipt alone: the exact sum of its components and the carried remainder, rounded down
 * once.
 */
export function priceOf(receipt: any): number {
  const { cachedPromptTokens, carriedBeforeUsd = '0', completionTokens, promptTokens, rates } = receipt
  const { reasoningTokens, toolCalls } = receipt
  const millionths = (text: string) => BigInt(Math.round(Number(text) * 1_000_000))
  const perToken = (million: string | undefined, thousand: string) =>
    million === undefined ? millionths(thousand) * 1000n : millionths(million)
  const trillionths =
    BigInt(promptTokens - cachedPromptTokens) * perToken(rates.inputPerMillionUsd, rates.inputPer1kUsd) +
    BigInt(cachedPromptTokens) * perToken(rates.cacheReadPerMillionUsd, rates.cachedInputPer1kUsd) +
    BigInt(completionTokens - reasoningTokens) * perToken(rates.outputPerMillionUsd, rates.outputPer1kUsd) +
    BigInt(reasoningTokens) * perToken(rates.reasoningPerMillionUsd, rates.reasoningPer1kUsd) +
    BigInt(toolCalls) * millionths(rates.toolCallUsd) * 1_000_000n
  return Number((trillionths / 1000n + BigInt(carriedBeforeUsd.replace('.', ''))) / billionthsPerUnit)
}

export const unitsOf = (usd: string): number => must(parseUsd(usd), 'a decimal')

/** Returns names of files in a new folder, through which an agent in a thread communicates with the test. */
export function filesIn(service: TestService): (name: string) => string {
  const folder = mkdtempSync(join(service.dataDir, 'talk-'))
  return (name) => join(folder, name)
}

export function readNumber(file: string): number {
  try {
    return Number(readFileSync(file, 'utf8'))
  } catch {
    return 0
  }
}

/** Expects that the ledger balances, nothing is held, and the session accepts the next message. */
export async function expectSound(talker: Talker): Promise<void> {
  await talker.settled()
  let events = await talker.chat('Still there?')
  // On a busy machine the replacement of a lost thread may start more slowly than a test's turn timeout.
  for (let tries = 1; tries < 5 && events.at(-1)?.error?.code === 'AGENT_TIMEOUT'; tries++) {
    await talker.settled()
    events = await talker.chat('Still there?')
  }
  expect(textOf(events)).toBe('You said: Still there?')
  expectOneEnd(events, 'done')
  expect(await talker.service.app.store.verifyLedger()).toMatchObject({ ok: true, differences: [] })
}
