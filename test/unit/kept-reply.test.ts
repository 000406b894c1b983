import { expect, test } from 'vitest'
import type { ToolCallStep } from '../../server/agents/run/chat-messages.ts'
import { KeptReply } from '../../server/chat/kept-reply.ts'
import { keptText, keptToolCalls, messageTextBytesMax, toolCallsBytesMax } from '../../server/store/byte-bounds.ts'

test('keeps only as much text as is stored, and knows the full size', () => {
  const reply = new KeptReply()
  const piece = 'é'.repeat(100_000)
  for (let n = 0; n < 50; n++) reply.add({ text: piece, toolCalls: [] })
  expect(reply.text.length).toBe(messageTextBytesMax + 1)
  expect(reply.textBytes).toBe(50 * 200_000)
  expect(keptText(reply.text)).toEqual(keptText(piece.repeat(50)))
  expect(keptText(reply.text).isCut).toBe(true)
})

test('keeps all of a reply within the bound', () => {
  const reply = new KeptReply()
  // Leaves room for the two quotes that JSON adds.
  const text = 'x'.repeat(messageTextBytesMax / 2 - 1)
  for (const _ of [1, 2]) reply.add({ text, toolCalls: [] })
  expect(keptText(reply.text)).toEqual({ text: text + text, isCut: false })
})

/** Returns calls with arguments of this many characters, then their results in reverse order. */
function steps({ argsChars, count, outputChars }: Record<'argsChars' | 'count' | 'outputChars', number>) {
  const ids = Array.from({ length: count }, (_, n) => `call-${n}`)
  const calls = ids.map((id): ToolCallStep => ({
    type: 'call',
    id,
    name: 'look',
    arguments: { x: 'a'.repeat(argsChars) },
  }))
  const results = ids.map((id): ToolCallStep => ({ type: 'result', id, output: { y: 'b'.repeat(outputChars) } }))
  return [...calls, ...results.toReversed()]
}

test('keeps exactly the tool calls that can be stored', () => {
  for (const sizes of [
    { argsChars: 10, count: 100, outputChars: 16_000 },
    { argsChars: 16_000, count: 100, outputChars: 10 },
    { argsChars: 10, count: 3, outputChars: 10 },
    { argsChars: 1, count: 20_000, outputChars: 1 },
  ]) {
    const reply = new KeptReply()
    const all = new Map<string, object>()
    for (const step of steps(sizes)) {
      reply.add({ text: '', toolCalls: [step] })
      if (step.type === 'call') all.set(step.id, { id: step.id, name: step.name, arguments: step.arguments })
      else Object.assign(all.get(step.id)!, { output: step.output })
    }
    expect(keptToolCalls(reply.toolCalls)).toBe(keptToolCalls([...all.values()] as never))
    const ofValues = reply.toolCalls.map((call) => JSON.stringify(call.arguments) + JSON.stringify(call.output))
    expect(ofValues.join('').length).toBeLessThanOrEqual(toolCallsBytesMax)
  }
})
