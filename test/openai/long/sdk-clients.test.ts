import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, streamText, type ModelMessage } from 'ai'
import { expect, test } from 'vitest'
import { startTalk } from '../../chat/chat-checks.ts'
import { say } from '../../support/chat-agents.ts'
import { pdf, png } from '../../support/sample-files.ts'
import { start, text } from '../file-calls.ts'
import { WireCalls } from '../wire-calls.ts'

// The AI SDK's own providers against /v1, with only the base URL and the key changed.

const asked: ModelMessage[] = [
  {
    role: 'user',
    content: [
      text('What are these?') as { type: 'text'; text: string },
      { type: 'file', mediaType: 'image/png', data: png() },
      { type: 'file', mediaType: 'application/pdf', data: pdf, filename: 'a.pdf' },
    ],
  },
]

test('images and files from both AI SDK providers reach an agent and are charged', async () => {
  const { mine, service, stop } = await start()
  const at = { baseURL: `${service.url}/v1`, apiKey: mine.person.key }
  const listed = `What are these?|undefined:image/png:${png().length}|a.pdf:application/pdf:${pdf.length}`
  const models = [
    createOpenAI(at).responses('tells'),
    createOpenAI(at).chat('tells'),
    createOpenAICompatible({ ...at, name: 'errand' })('tells'),
  ]
  for (const model of models) {
    const { text: said } = await generateText({ model, messages: asked, maxRetries: 0 })
    expect(said, model.provider).toBe(`What are these? <${listed}>`)
  }
  expect(await mine.charges()).toHaveLength(models.length)
  await mine.expectSound()
  await stop()
})

test('an AI SDK conversation continues from all earlier messages or from a response id', async () => {
  const service = await startTalk()
  const mine = new WireCalls(service, await service.createPerson())
  const model = createOpenAI({ baseURL: `${service.url}/v1`, apiKey: mine.person.key }).responses('talk')
  const first = say({ do: 'reasoning', delta: 'Hm' }, { do: 'text', delta: 'Two' })
  const history = say({ do: 'tell', what: 'history' })
  const whole = { providerOptions: { openai: { store: false } }, maxRetries: 0 }
  const messages: ModelMessage[] = [{ role: 'user', content: first }]
  const turn = async (content: string) => {
    const { response, text: said } = await generateText({ model, messages, ...whole })
    messages.push(...response.messages, { role: 'user', content })
    return said
  }
  expect(await turn('Three')).toBe('Two')
  expect(await turn(history)).toBe('You said: Three')
  expect(JSON.parse(await turn('Four')).map(({ content }: any) => content)).toEqual([
    first,
    'Two',
    'Three',
    'You said: Three',
  ])
  expect(await mine.sessions()).toEqual([])

  const kept = await generateText({ model, prompt: first, maxRetries: 0 })
  const previousResponseId = kept.providerMetadata!['openai']!['responseId'] as string
  const next = await generateText({ model, prompt: history, providerOptions: { openai: { previousResponseId } } })
  expect(JSON.parse(next.text)).toMatchObject([{ content: first }, { content: 'Two' }])
  expect(await mine.charges()).toHaveLength(5)
  await mine.expectSound()
  await service.stop()
})

test('the OpenAI provider of the AI SDK continues by reply ids in its default mode', async () => {
  const service = await startTalk()
  const mine = new WireCalls(service, await service.createPerson())
  const model = createOpenAI({ baseURL: `${service.url}/v1`, apiKey: mine.person.key })('talk')
  const first = say({ do: 'reasoning', delta: 'Hm' }, { do: 'text', delta: 'Two' })
  const history = say({ do: 'tell', what: 'history' })
  const messages: ModelMessage[] = [{ role: 'user', content: first }]
  const turn = async (content: string, from: ModelMessage[] = messages) => {
    const { response, text: said } = await generateText({ model, messages: from, maxRetries: 0 })
    from.push(...response.messages, { role: 'user', content })
    return said
  }
  const told = (text: string) => JSON.parse(text).map(({ content }: any) => content)
  expect(await turn('Three')).toBe('Two')
  const fork = [...messages.slice(0, 2), { role: 'user', content: 'Other' } as const]
  expect(await turn(history)).toBe('You said: Three')
  expect(told(await turn('Four'))).toEqual([first, 'Two', 'Three', 'You said: Three'])
  expect(await turn(history)).toBe('You said: Four')
  // One conversation is one session.
  expect((await mine.sessions()).map(({ messageCount }) => messageCount)).toEqual([8])
  // An edited conversation is used as sent, and can also be continued.
  expect(await turn(history, fork)).toBe('You said: Other')
  expect(told(await turn(history, fork))).toEqual([first, 'Two', 'Other', 'You said: Other'])
  expect(told(await turn('End', fork)).slice(0, 5)).toEqual([first, 'Two', 'Other', 'You said: Other', history])
  const stranger = new WireCalls(service, await service.createPerson())
  const { id } = (await mine.respond('Mine')).body.output[0]
  const named = [
    { type: 'item_reference', id },
    { role: 'user', content: 'And?' },
  ]
  const refused = await stranger.respond(named)
  expect([refused.status, refused.body.error.param]).toEqual([404, 'input[0].id'])
  expect((await mine.respond(named)).status).toBe(200)
  await mine.expectSound()
  await service.stop()
})

test('the AI SDK reads reasoning separately from text, with and without streaming', async () => {
  const service = await startTalk()
  const mine = new WireCalls(service, await service.createPerson())
  const model = createOpenAI({ baseURL: `${service.url}/v1`, apiKey: mine.person.key }).responses('talk')
  const prompt = say(
    { do: 'reasoning', delta: 'Hm' },
    { do: 'text', delta: 'One' },
    { do: 'reasoning', delta: 'So' },
    { do: 'text', delta: 'Two' },
  )
  const whole = await generateText({ model, prompt, maxRetries: 0 })
  expect([whole.text, whole.reasoning.map((part) => ('text' in part ? part.text : ''))]).toEqual([
    'OneTwo',
    ['Hm', 'So'],
  ])
  const stream = streamText({ model, prompt, maxRetries: 0 })
  const seen: string[] = []
  for await (const part of stream.fullStream) {
    if (part.type === 'text-delta' || part.type === 'reasoning-delta') seen.push(`${part.type}: ${part.text}`)
    if (part.type === 'error') throw part.error
  }
  expect(seen).toEqual(['reasoning-delta: Hm', 'text-delta: One', 'reasoning-delta: So', 'text-delta: Two'])
  await mine.expectSound()
  await service.stop()
})
