import { expect, test } from 'vitest'
import { ofTier } from '../../../run/tiers.ts'
import { say, type Step } from '../../../support/chat-agents.ts'
import { expectOneEnd, expectSound, startTalk, Talker, textOf } from '../../chat-checks.ts'

const text: Step = { do: 'text', delta: 'Some text. ' }
const usage: Step = { do: 'usage', promptTokens: 100, completionTokens: 100 }
const raw = (part: unknown): Step => ({ do: 'raw', part })

type Fault = { what: string; steps: Step[]; message: RegExp; given?: string; agentId?: string }

const faults: Fault[] = [
  { what: 'throws before its first event', steps: [{ do: 'throw', message: 'At once.' }], message: /^At once\.$/ },
  {
    what: 'throws between events',
    steps: [text, usage, { do: 'throw', message: 'Midway.' }, text],
    message: /^Midway\.$/,
    given: 'Some text. ',
  },
  {
    what: 'throws after its last event',
    steps: [text, usage, { do: 'wait', ms: 20 }, { do: 'throw', message: 'At last.' }],
    message: /^At last\.$/,
    given: 'Some text. ',
  },
  { what: 'throws null', steps: [text, { do: 'throw-value', value: null }], message: /null/, given: 'Some text. ' },
  { what: 'throws a text', steps: [{ do: 'throw-value', value: 'broken' }], message: /broken/ },
  { what: 'exits', steps: [text, { do: 'exit' }], message: /exit/, given: 'Some text. ' },
  {
    what: 'yields an unknown kind',
    steps: [text, raw({ type: 'image', delta: 'x' })],
    message: /"image"/,
    given: 'Some text. ',
  },
  { what: 'yields a part without a kind', steps: [raw({})], message: /unknown type/ },
  { what: 'yields null', steps: [raw(null)], message: /not an object/ },
  { what: 'yields a text', steps: [raw('text')], message: /not an object/ },
  { what: 'yields an array', steps: [raw([])], message: /unknown type/ },
  {
    what: 'yields a result without its call',
    steps: [text, { do: 'result', id: 'none', output: {} }],
    message: /"none"/,
    given: 'Some text. ',
  },
  {
    what: 'yields two results of one call',
    steps: [
      { do: 'call', id: 'a' },
      { do: 'result', id: 'a', output: {} },
      { do: 'result', id: 'a', output: {} },
    ],
    message: /"a"/,
  },
  {
    what: 'yields two calls of one id',
    steps: [
      { do: 'call', id: 'a' },
      { do: 'call', id: 'a' },
    ],
    message: /"a"/,
  },
  {
    what: 'yields a call of an id that has its result',
    steps: [
      { do: 'call', id: 'a' },
      { do: 'result', id: 'a', output: {} },
      { do: 'call', id: 'a' },
    ],
    message: /"a"/,
  },
  { what: 'yields a delta that is a number', steps: [raw({ type: 'text', delta: 1 })], message: /delta/ },
  { what: 'yields no delta', steps: [raw({ type: 'reasoning' })], message: /delta/ },
  {
    what: 'yields arguments that are a text',
    steps: [{ do: 'call', id: 'a', arguments: '{}' }],
    message: /must yield the arguments of .* as an object/,
  },
  {
    what: 'yields arguments that are an array',
    steps: [{ do: 'call', id: 'a', arguments: [] }],
    message: /must yield the arguments of .* as an object/,
  },
  {
    what: 'yields arguments that are null',
    steps: [{ do: 'call', id: 'a', arguments: null }],
    message: /must yield the arguments of .* as an object/,
  },
  { what: 'yields a call without an id', steps: [raw({ type: 'tool-call', name: 'x', arguments: {} })], message: /id/ },
  { what: 'yields a call with an empty name', steps: [{ do: 'call', id: 'a', name: '' }], message: /name/ },
  {
    what: 'reports negative tokens',
    steps: [text, { do: 'usage', promptTokens: -1, completionTokens: 1 }],
    message: /promptTokens/,
    given: 'Some text. ',
  },
  {
    what: 'reports half a token',
    steps: [{ do: 'usage', promptTokens: 1, completionTokens: 1.5 }],
    message: /completionTokens/,
  },
  {
    what: 'reports more reasoning than completion',
    steps: [{ do: 'usage', promptTokens: 1, completionTokens: 1, reasoningTokens: 2 }],
    message: /reasoningTokens/,
  },
  {
    what: 'reports more cached prompt than prompt',
    steps: [{ do: 'usage', promptTokens: 1, completionTokens: 1, cachedPromptTokens: 2 }],
    message: /cachedPromptTokens/,
  },
  {
    what: 'reports more cached and cache-written prompt than prompt',
    steps: [raw({ type: 'usage', promptTokens: 3, completionTokens: 1, cachedPromptTokens: 2, cacheWriteTokens: 2 })],
    message: /cacheWriteTokens than promptTokens/,
  },
  {
    what: 'reports more cache writes for an hour than cache writes',
    steps: [raw({ type: 'usage', promptTokens: 3, completionTokens: 1, cacheWriteTokens: 1, cacheWrite1hTokens: 2 })],
    message: /cacheWrite1hTokens than cacheWriteTokens/,
  },
  {
    what: 'reports a usage without numbers',
    steps: [raw({ type: 'usage', promptTokens: '1', completionTokens: '1' })],
    message: /promptTokens/,
  },
  { what: 'returns no async iterable', agentId: 'nothing', steps: [text], message: /async iterable/ },
]

test('each agent fault causes one error event, costs nothing and leaves the session unchanged', async () => {
  const service = await startTalk({ isInline: false })
  for (const { agentId = 'talk', given = '', message, steps, what } of faults) {
    const talker = await Talker.create(service, { agentId })
    const before = await talker.state()
    const reader = await talker.do(...steps)
    const events = await reader.all()
    expect(reader.status, what).toBe(200)
    expect(expectOneEnd(events, 'error'), what).toEqual({
      type: 'error',
      timestamp: expect.any(String),
      seq: events.length,
      error: { code: 'AGENT_ERROR', message: expect.stringMatching(message) },
      costUsd: '0.0000',
    })
    expect(textOf(events), what).toBe(given)
    expect(reader.text, what).not.toMatch(/\.ts:\d|node_modules/)
    expect(await talker.state(), what).toEqual(before)
    if (agentId === 'talk') await expectSound(talker)
  }
  await service.stop()
})

test('an uncaught error of an agent affects neither its own reply nor concurrent replies', async () => {
  const service = await startTalk({ isInline: false, limits: { agentThreads: 1 } })
  const [one, other] = [await Talker.create(service), await Talker.create(service)]
  const beside = await other.do(text, { do: 'wait', ms: 300 }, { do: 'text', delta: 'Done.' })
  await beside.until('assistant_delta')
  const events = await one.chat(say({ do: 'late-throw', ms: 1 }, { do: 'wait', ms: 50 }, text))
  expectOneEnd(events, 'done')
  expectOneEnd(await beside.all(), 'done')
  expect(textOf(await beside.all())).toBe('Some text. Done.')
  await expectSound(one)
  await service.stop()
})

const depths = ofTier([400, 100_000], [400, 1500, 3000, 10_000, 100_000])

test.for(depths.flatMap((levels) => [false, true].map((isInline) => ({ isInline, levels }))))(
  'output nested $levels levels deep is sent in full or fails only its own reply (inline: $isInline)',
  async ({ isInline, levels }) => {
    const service = await startTalk({ isInline, limits: { agentThreads: 1, turnTimeoutSeconds: 30 } })
    const [one, other] = [await Talker.create(service), await Talker.create(service)]
    const flood: Step = { do: 'flood', times: 200, delta: 'x', everyMs: 1 }
    const beside = await other.do(flood)
    await beside.until('assistant_delta')
    const reader = await one.do({ do: 'call', id: 'a' }, { do: 'nested', id: 'a', levels }, text)
    const events = await reader.all()
    expectOneEnd(await beside.all(), 'done')
    expect(textOf(await beside.all())).toBe('x'.repeat(200))
    const end = events.at(-1)
    if (end.type === 'error') expect(end).toMatchObject({ error: { code: 'AGENT_ERROR' }, costUsd: '0.0000' })
    else expect(events.map(({ type }) => type)).toEqual(['tool_call', 'tool_result', 'assistant_delta', 'done'])
    await expectSound(one)
    await service.stop()
  },
)

test('an endless reply ends with AGENT_TIMEOUT after turnTimeoutSeconds, charged and stored as truncated', async () => {
  const service = await startTalk({ isInline: false, limits: { turnTimeoutSeconds: 4 } })
  const talker = await Talker.create(service)
  const message = say(usage, text, { do: 'wait', ms: 600_000 })
  const events = await talker.chat(message)
  const end = expectOneEnd(events, 'error')
  expect(end.error.code).toBe('AGENT_TIMEOUT')
  const charges = await talker.charges()
  expect(charges).toHaveLength(1)
  expect(charges[0].amountUsd).toBe(`-${end.costUsd}`)
  expect(charges[0].breakdown.promptTokens).toBe(100)
  expect(await talker.messages()).toMatchObject([
    { role: 'user', content: message },
    { role: 'assistant', content: 'Some text. ', truncated: true },
  ])
  await expectSound(talker)
  await service.stop()
})

test('ends a reply that ignores its signal, and drops what it yields afterwards', async () => {
  const service = await startTalk({ isInline: false, limits: { turnTimeoutSeconds: 4 } })
  const talker = await Talker.create(service)
  const events = await talker.chat(
    say(text, { do: 'await-abort' }, { do: 'sleep', ms: 50 }, { do: 'text', delta: 'Too late.' }, usage),
  )
  expect(expectOneEnd(events, 'error').error.code).toBe('AGENT_TIMEOUT')
  expect(textOf(events)).toBe('Some text. ')
  expect((await talker.messages())[1]).toMatchObject({ content: 'Some text. ', truncated: true })
  await expectSound(talker)
  await service.stop()
})

test('a reply that blocks its thread ends with AGENT_TIMEOUT and does not delay chats in other threads', async () => {
  const service = await startTalk({ isInline: false, limits: { turnTimeoutSeconds: 8, agentThreads: 2 } })
  const [talker, other] = [await Talker.create(service), await Talker.create(service)]
  const before = await talker.account()
  const reader = await talker.do({ do: 'block', ms: 600_000 })
  for (let n = 0; n < 10; n++) expectOneEnd(await other.chat(`Message ${n}`), 'done')
  const end = expectOneEnd(await reader.all(), 'error')
  expect(end).toMatchObject({ error: { code: 'AGENT_TIMEOUT' }, costUsd: '0.0000' })
  expect(await talker.account()).toEqual(before)
  expect(await talker.messages()).toEqual([])
  await expectSound(talker)
  await service.stop()
})

test('a reply that blocks its thread forever midway is charged once for the text sent before', async () => {
  const service = await startTalk({ isInline: false, limits: { turnTimeoutSeconds: 4, agentThreads: 1 } })
  const talker = await Talker.create(service)
  const events = await talker.chat(say(text, { do: 'sleep', ms: 50 }, { do: 'block', ms: 600_000 }))
  const end = expectOneEnd(events, 'error')
  expect(end.error.code).toBe('AGENT_TIMEOUT')
  const [charge, ...more] = await talker.charges()
  expect(more).toEqual([])
  expect(charge).toMatchObject({ amountUsd: `-${end.costUsd}`, breakdown: { isEstimated: true } })
  expect((await talker.messages())[1]).toMatchObject({ content: 'Some text. ', truncated: true })
  await expectSound(talker)
  await service.stop()
})

test('a reply beyond maxReplyBytes fails and is not charged', async () => {
  const service = await startTalk({ isInline: false, limits: { maxReplyBytes: 100_000 } })
  // Each byte may be a token and is held.
  const talker = await Talker.create(service, { balanceUsd: '100.0000' })
  const before = await talker.state()
  const events = await talker.chat(say({ do: 'flood', times: 2000, delta: 'x'.repeat(100) }))
  expect(expectOneEnd(events, 'error')).toMatchObject({ error: { code: 'AGENT_ERROR' }, costUsd: '0.0000' })
  expect(await talker.state()).toEqual(before)
  await expectSound(talker)
  await service.stop()
})

test('failed chats do not count toward the abuse block, and a blocked account can chat', async () => {
  const service = await startTalk({ isInline: false, limits: { abuseFailures: 2 } })
  const talker = await Talker.create(service)
  for (let n = 0; n < 3; n++) expectOneEnd(await talker.chat(say({ do: 'throw', message: 'No.' })), 'error')
  for (let n = 0; n < 2; n++) {
    const { body, status } = await service.createTask(talker.key, 'work.fail')
    expect(status, 'failed chats block nothing').toBe(200)
    await service.get(`/api/tasks/${body.taskId}?wait=20`, talker.key)
  }
  expect((await service.createTask(talker.key, 'work.echo')).status).toBe(403)
  await expectSound(talker)
  await service.stop()
})

test('text sent just before an agent blocks its thread is delivered, stored and charged', async () => {
  const service = await startTalk({ isInline: false, limits: { turnTimeoutSeconds: 2, agentThreads: 1 } })
  const talker = await Talker.create(service)
  const reader = await talker.do({ do: 'text', delta: 'Last words. ' }, { do: 'block', ms: 20_000 })
  const events = await reader.all()
  expect(textOf(events)).toBe('Last words. ')
  const end = expectOneEnd(events, 'error')
  expect(end.error.code).toBe('AGENT_TIMEOUT')
  const [{ amountUsd, breakdown }] = await talker.charges()
  expect(amountUsd).toBe(`-${end.costUsd}`)
  expect(breakdown.completionTokens).toBe(3)
  expect((await talker.messages())[1]).toMatchObject({ content: 'Last words. ', truncated: true })
  await talker.settled()
  expect(await service.app.store.verifyLedger()).toMatchObject({ ok: true, differences: [] })
  await service.stop()
})
