import { expect, test } from 'vitest'
import type { Catalogue } from '../../server/agents/config/catalogue.ts'
import type { ChatPart } from '../../server/agents/config/define-config.ts'
import { CreditWindow } from '../../server/agents/run/credit-window.ts'
import { executeChat } from '../../server/agents/run/execute-chat.ts'
import { ratesAt } from '../support/rates.ts'

const parts = 100
/** Long enough for the reply to yield after each part. */
const delta = 'x'.repeat(20_000)

function block(ms: number): void {
  for (const until = performance.now() + ms; performance.now() < until;) continue
}

/** Returns a credit window that never fills. */
function openWindow(): CreditWindow {
  const window = new CreditWindow()
  window.sent = () => {}
  return window
}

/** Returns for each part whether the agent is expected to block the thread before the next one. */
async function resumesOf(beforePart: () => void): Promise<boolean[]> {
  const resumes: boolean[] = []
  async function* reply(): AsyncGenerator<ChatPart> {
    for (let n = 0; n < parts; n++) {
      beforePart()
      yield { type: 'text', delta }
    }
  }
  const chat = { isModel: false, hasReasoning: false, maxOutputTokens: 100_000, contextTokens: 100_000, reply }
  const outcome = await executeChat({
    catalogue: { agent: () => ({ id: 'a', chat, toolNames: [] }) } as unknown as Catalogue,
    request: {
      agentId: 'a',
      userId: 'u',
      sessionId: 's',
      turnId: 't',
      message: 'hello',
      history: [],
      historyTokens: 0,
      params: {},
      connectors: [],
      rates: ratesAt({}),
      room: 1_000_000,
    },
    signal: new AbortController().signal,
    readOnMs: () => 0,
    log: () => {},
    replyBytesMax: 10_000_000,
    connect: () => Promise.reject(new Error('no connectors')),
    window: openWindow(),
    askStep: () => Promise.resolve(0),
    onDirty: () => {},
    onResume: (blocks) => resumes.push(blocks),
    onStillRunning: () => {},
  })
  expect(outcome.kind).toBe('completed')
  return resumes
}

const share = (resumes: boolean[]) => resumes.filter(Boolean).length / resumes.length

test('does not mistake a quickly yielding agent on a busy thread for a blocking one', async () => {
  let isOver = false
  const others = () => {
    block(3)
    if (!isOver) setImmediate(others)
  }
  setImmediate(others)
  expect(share(await resumesOf(() => {}))).toBeLessThan(0.2)
  isOver = true
})

test('sends output before the agent blocks the thread again', async () => {
  const resumes = await resumesOf(() => block(1.5))
  expect(share(resumes)).toBeGreaterThan(0.9)
})
