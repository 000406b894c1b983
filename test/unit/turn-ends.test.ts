import { expect, test } from 'vitest'
import { chatHold, chatUse, type ChatUsed } from '../../server/billing/chat-price.ts'
import { describeEnd, readOnMsOf, withCallsMade, withinHold, type StopCause } from '../../server/chat/turn-ends.ts'
import { ratesAt } from '../support/rates.ts'

// Output costs 0.0009 USD per reasoning token and 0.0006 per other token, a prompt token 0.0001, and a call 0.0100.
const rates = ratesAt({ input: 100_000, output: 600_000, reasoning: 900_000, toolCall: 10_000 })

const summaryOf = (used: Partial<ChatUsed>) => ({
  used: chatUse(used),
  reported: null,
  isEstimated: false,
  messageTokens: 1,
  replyTokens: 1,
})

test('charges counted usage up to the held amount', () => {
  const left = summaryOf({ promptTokens: 20, completionTokens: 5000, reasoningTokens: 40, toolCalls: 1 })
  const { isEstimated, used } = withinHold(left, { held: 1000, rates })
  // After prompt and call, 880 units are left, at 9 units per reasoning token.
  expect(used).toMatchObject({ promptTokens: 20, completionTokens: 97, reasoningTokens: 40, toolCalls: 1 })
  expect(chatHold(used, rates)).toBeLessThanOrEqual(1000)
  expect(isEstimated).toBe(true)
})

test('charges reported usage even beyond the hold, but estimated usage only up to the hold', () => {
  for (const use of [{ completionTokens: 500 }, { promptTokens: 40_000 }]) {
    const reported = chatUse(use)
    expect(withinHold({ ...summaryOf(use), reported }, { held: 1000, rates }).used).toEqual(reported)
  }
  const estimated = withinHold(summaryOf({ completionTokens: 500 }), { held: 1000, rates })
  expect(estimated).toMatchObject({ used: { completionTokens: 111 }, isEstimated: true })
})

test('charges usage in full if the hold covers it', () => {
  const left = summaryOf({ completionTokens: 500 })
  expect(withinHold(left, { held: 3000, rates })).toEqual(left)
  const reported = { ...left, reported: left.used }
  expect(withinHold(reported, { held: 3000, rates })).toEqual(reported)
})

test('a reply ended by a limit reports the code of the limit, even if the agent also throws', () => {
  const failed = { kind: 'failed', error: { code: 'AGENT_ERROR', message: 'It broke.', details: '' } } as const
  const codeOf = (cause: StopCause | undefined) => describeEnd(cause, failed).code
  expect(codeOf('budget')).toBe('BUDGET_REACHED')
  expect(codeOf('balance')).toBe('INSUFFICIENT_BALANCE')
  expect(codeOf('limit')).toBe('LIMIT_REACHED')
  expect(codeOf(undefined)).toBe('AGENT_ERROR')
})

test('after a reply is stopped, reads hidden reasoning for up to a minute, anything else only briefly', () => {
  const leftMs = 200_000
  const hidden = { hidesReasoning: true, leftMs }
  const causes = ['stopped', 'disconnect', 'deleted', 'timeout', 'drain'] as const
  expect(causes.map((cause) => readOnMsOf(cause, hidden))).toEqual([60_000, 60_000, 6000, 700, 0])
  expect(causes.map((cause) => readOnMsOf(cause, { hidesReasoning: false, leftMs }))).toEqual([700, 700, 700, 700, 0])
  expect(readOnMsOf('stopped', { hidesReasoning: true, leftMs: 5000 })).toBe(5000)
})

test('does not count tool calls beyond the allowed number', () => {
  const cut = withCallsMade(summaryOf({ promptTokens: 1, toolCalls: 100 }), 3)
  expect(cut).toMatchObject({ used: { promptTokens: 1, toolCalls: 3 } })
  expect(withCallsMade(summaryOf({ toolCalls: 2 }), 3).used.toolCalls).toBe(2)
})
