import { expect, test } from 'vitest'
import { chatHold, chatUse, type ChatUsed } from '../../server/billing/chat-price.ts'
import { chargedAtMost, withCallsMade } from '../../server/chat/turn-ends.ts'

// Of tokens that are written a thought costs 0.0009 USD and any other 0.0006, a token of a prompt 0.0001, a call 0.0100.
const rates = { input: 100_000, cachedInput: 100_000, output: 600_000, reasoning: 900_000, toolCall: 10_000 }

const summaryOf = (used: Partial<ChatUsed>, usedAtMost?: Partial<ChatUsed>) => ({
  used: chatUse(used),
  reported: null,
  ...(usedAtMost && { usedAtMost: chatUse(usedAtMost) }),
  isEstimated: false,
  messageTokens: 1,
  replyTokens: 1,
})

test('a reply that is left during a call of a model is charged all that the call may have used', () => {
  const left = summaryOf({ promptTokens: 10 }, { promptTokens: 20, completionTokens: 5, reasoningTokens: 5 })
  const { isEstimated, used } = chargedAtMost(left, { held: 65, rates })
  expect({ isEstimated, used }).toEqual({ isEstimated: true, used: left.usedAtMost })
})

test('where that is more than is held, what is charged is as much as is held pays for', () => {
  const left = summaryOf(
    { promptTokens: 10, toolCalls: 1 },
    { promptTokens: 20, completionTokens: 5000, reasoningTokens: 40, toolCalls: 1 },
  )
  const { used } = chargedAtMost(left, { held: 1000, rates })
  // 880 are left beside the prompt and the call, at 9 a thought.
  expect(used).toMatchObject({ promptTokens: 20, completionTokens: 97, reasoningTokens: 40, toolCalls: 1 })
  expect(chatHold(used, rates)).toBeLessThanOrEqual(1000)
})

test('what was reported is charged, also where it is more than is held; what is only estimated is not', () => {
  for (const use of [{ completionTokens: 500 }, { promptTokens: 40_000 }]) {
    const left = summaryOf(use, { ...use, completionTokens: 600 })
    const reported = chatUse(use)
    expect(chargedAtMost({ ...left, reported }, { held: 1000, rates }).used).toEqual(reported)
  }
  const estimated = chargedAtMost(summaryOf({ completionTokens: 500 }), { held: 1000, rates })
  expect(estimated).toMatchObject({ used: { completionTokens: 111 }, isEstimated: true })
})

test('what was used is charged where that is held and no call of a model is under way', () => {
  const left = summaryOf({ completionTokens: 500 })
  expect(chargedAtMost(left, { held: 3000, rates })).toEqual(left)
  const reported = { ...left, reported: left.used }
  expect(chargedAtMost(reported, { held: 3000, rates })).toEqual(reported)
})

test('calls that were not held were not made', () => {
  const cut = withCallsMade(summaryOf({ toolCalls: 100 }, { promptTokens: 1, toolCalls: 100 }), 3)
  expect(cut).toMatchObject({ used: { toolCalls: 3 }, usedAtMost: { promptTokens: 1, toolCalls: 3 } })
  expect(withCallsMade(summaryOf({ toolCalls: 2 }), 3).used.toolCalls).toBe(2)
})
