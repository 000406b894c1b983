import { expect, test } from 'vitest'
import { say } from '../support/chat-agents.ts'
import { expectOneEnd, startTalk, Talker, textOf } from './chat-checks.ts'

const tellHistory = say({ do: 'tell', what: 'history' })
const historyIn = async (talker: Talker) => JSON.parse(textOf(await talker.chat(tellHistory)))

test('passes the complete earlier exchanges to the agent, oldest first', async () => {
  const service = await startTalk()
  const talker = await Talker.create(service)
  expect(await historyIn(talker)).toEqual([])
  const other = await talker.another()
  await talker.chat('One')
  await talker.chat('Two')
  expect(await historyIn(talker)).toEqual([
    { role: 'user', content: tellHistory },
    { role: 'assistant', content: '[]' },
    { role: 'user', content: 'One' },
    { role: 'assistant', content: 'You said: One' },
    { role: 'user', content: 'Two' },
    { role: 'assistant', content: 'You said: Two' },
  ])
  expect(await talker.session()).toMatchObject({ messageCount: 8 })
  expect(await historyIn(other)).toEqual([])
  await service.stop()
})

test('a cut-off reply is part of the history; a failed reply and its message are not', async () => {
  const service = await startTalk()
  const talker = await Talker.create(service)
  const cut = say({ do: 'text', delta: 'Half a' }, { do: 'await-abort' })
  const reader = await talker.open(cut)
  await reader.until('assistant_delta')
  reader.leave()
  await talker.settled()
  const failed = await talker.chat(say({ do: 'text', delta: 'Lost' }, { do: 'throw', message: 'No.' }))
  expectOneEnd(failed, 'error')
  expect(await historyIn(talker)).toEqual([
    { role: 'user', content: cut },
    { role: 'assistant', content: 'Half a' },
  ])
  await service.stop()
})

test('trims history to contextTokens by dropping complete exchanges, oldest first', async () => {
  const service = await startTalk()
  const talker = await Talker.create(service, { agentId: 'forgetful' })
  // An exchange has about 10 + 13 tokens. The context, for message and history together, has 100.
  const texts = Array.from({ length: 8 }, (_, n) => `${n}`.repeat(40))
  for (const text of texts) expectOneEnd(await talker.chat(text), 'done')
  const history = await historyIn(talker)
  const users = history.filter(({ role }: any) => role === 'user').map(({ content }: any) => content)
  expect(users.length).toBeGreaterThan(0)
  expect(users.length).toBeLessThan(8)
  expect(users).toEqual(texts.slice(-users.length))
  expect(history.map(({ role }: any) => role)).toEqual(users.flatMap(() => ['user', 'assistant']))
  for (const [n, text] of users.entries()) expect(history[2 * n + 1].content).toBe(`You said: ${text}`)
  await service.stop()
})

test('a message that fills contextTokens gets no history; a longer one is rejected with its field name', async () => {
  const service = await startTalk()
  const talker = await Talker.create(service, { agentId: 'forgetful' })
  await talker.chat('One')
  const full = say({ do: 'tell', what: 'history' }).padEnd(400, ' ')
  expect(JSON.parse(textOf(await talker.chat(full)))).toEqual([])
  const before = await talker.state()
  const refused = await talker.open('x'.repeat(401))
  await refused.all()
  expect(refused.status).toBe(400)
  expect(JSON.parse(refused.text).details).toEqual([{ path: 'message', message: expect.stringContaining('100') }])
  expect(await talker.state()).toEqual(before)
  await service.stop()
})

test('charges history as part of the prompt, but not the exchanges trimmed from it', async () => {
  const service = await startTalk()
  const talker = await Talker.create(service, { agentId: 'forgetful' })
  const prompts: number[] = []
  for (let n = 0; n < 8; n++)
    prompts.push(expectOneEnd(await talker.chat('Remember the milk and the bread.'), 'done').usage.promptTokens)
  expect(prompts[1]).toBeGreaterThan(prompts[0]!)
  expect(prompts[2]).toBeGreaterThan(prompts[1]!)
  for (const prompt of prompts) expect(prompt).toBeLessThanOrEqual(100)
  await service.stop()
})

test('reasoning is not part of the history, so later messages are not charged for it', async () => {
  const service = await startTalk()
  const [thinker, plain] = [await Talker.create(service), await Talker.create(service)]
  const usage = { do: 'usage', promptTokens: 1, completionTokens: 1 } as const
  await thinker.chat(
    say({ do: 'text', delta: 'Yes.' }, { do: 'reasoning', delta: 'Let me think. '.repeat(100) }, usage),
  )
  await plain.chat(say({ do: 'text', delta: 'Yes.' }, { do: 'reasoning', delta: '' }, usage))
  const prompt = async (talker: Talker) => expectOneEnd(await talker.chat('Again'), 'done').usage.promptTokens
  // Only the user messages differ, by 1,400 characters: the reasoning itself is not in the history.
  expect((await prompt(thinker)) - (await prompt(plain))).toBe(350)
  await service.stop()
})

test('stores tool calls with their reply; a call without a result has no output', async () => {
  const service = await startTalk()
  const talker = await Talker.create(service)
  const reader = await talker.do(
    { do: 'call', id: 'a', name: 'first', arguments: { n: 1 } },
    { do: 'result', id: 'a', output: { ok: true } },
    { do: 'call', id: 'b', name: 'second', arguments: { n: 2 } },
    { do: 'text', delta: 'Now' },
    { do: 'await-abort' },
  )
  await reader.until('assistant_delta')
  reader.leave()
  await talker.settled()
  expect((await talker.messages())[1]).toMatchObject({
    truncated: true,
    toolCalls: [
      { id: 'a', name: 'first', arguments: { n: 1 }, output: { ok: true } },
      { id: 'b', name: 'second', arguments: { n: 2 }, output: null },
    ],
  })
  await service.stop()
})
