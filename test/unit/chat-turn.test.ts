import { expect, test } from 'vitest'
import { chatUse, type ChatUsed } from '../../server/billing/chat-price.ts'
import { ChatTurn } from '../../server/chat/chat-turn.ts'
import { FairPlaces } from '../../server/kernel/fair-places.ts'
import type { ChatBatch, ChatRequest } from '../../server/agents/run/chat-messages.ts'
import { ratesAt } from '../support/rates.ts'

// A token costs 0.0001 USD, the unit of amounts.
const rates = ratesAt({ input: 100_000, output: 100_000 })
const output = (completionTokens: number) => chatUse({ completionTokens })

function batch(serial: number, { bound, used }: { bound: ChatUsed; used: ChatUsed }): ChatBatch {
  const lines = `{"seq":${serial}}\n`
  return { serial, lines, events: 1, text: 'x', toolCalls: [], used, bound, isStepOpen: false, reported: null }
}

/** Creates a turn that holds `held` and cannot hold more. Its agent has sent these batches and ended. */
function turnWith(batches: readonly ChatBatch[], held: number): ChatTurn {
  const { used } = batches.at(-1)!
  const summary = { used, reported: used, isEstimated: false, messageTokens: 1, replyTokens: 1 }
  const parts = {
    agents: {
      runChat: (_: ChatRequest, { onBatch }: { onBatch: (one: ChatBatch) => void }) => {
        for (const one of batches) onBatch(one)
        const outcome = Promise.resolve({ kind: 'completed', json: JSON.stringify(summary) })
        return { outcome, credit: () => {} }
      },
    },
    clock: { now: () => 0 },
    log: {},
    meter: { chatRun: () => {} },
    replyRoom: new FairPlaces({}),
    store: {
      growHold: async () => ({ outcome: 'refused', reason: 'balance' }),
      settleTurn: async ({ cost }: { cost: number }) => ({ charged: cost, balance: 0, writtenOff: 0 }),
    },
    tracing: undefined,
    turnTimeoutMs: 60_000,
  }
  const request = {
    turnId: 'turn_1',
    userId: 'user_1',
    sessionId: 's',
    agentId: 'a',
    message: 'Hi',
    history: [],
    rates,
  }
  const models = [{ id: null, rates, cost: null }]
  const begin = {
    request,
    parts: null,
    hidesReasoning: false,
    isKept: true,
    requestId: 'r',
    span: undefined,
    held,
    models,
  }
  const own = { onFirstStep: () => {}, onSettled: () => {} }
  return new ChatTurn(parts as never, { ...begin, ...own } as never)
}

async function readAll(turn: ChatTurn): Promise<string> {
  let text = ''
  for (let lines = await turn.next(); lines !== undefined; lines = await turn.next()) text += lines
  return text
}

test('a usage report that lowers the bound lets earlier text through', async () => {
  const text = batch(1, { bound: output(100), used: output(25) })
  const report = batch(2, { bound: output(20), used: output(20) })
  const read = await readAll(turnWith([text, report], 30))
  expect(read).toContain('{"seq":1}\n{"seq":2}\n')
  expect(read).toContain('"type":"done"')
})

test('shows only the batches that the hold covers', async () => {
  const [first, second] = [10, 40].map((tokens, n) => batch(n + 1, { bound: output(tokens), used: output(tokens) }))
  const read = await readAll(turnWith([first!, second!], 30))
  expect(read).toMatch(/^\{"seq":1\}\n\{.*"INSUFFICIENT_BALANCE".*"costUsd":"0\.0010"/)
})
