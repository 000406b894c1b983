import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineConfig, defineEndpoint } from '../../server/agents/config/define-config.ts'
import { startService } from '../support/test-service.ts'

const config = defineConfig({
  agents: [
    {
      kind: 'code',
      id: 'text',
      name: 'Text tools',
      description: 'Works on texts.',
      endpoints: {
        shorten: defineEndpoint({
          description: 'Shortens a text.',
          priceUsd: '0.5',
          timeoutSeconds: 12.5,
          connectorTokensMax: 0,
          params: z.strictObject({
            text: z.string().min(1).describe('What to shorten'),
            sentences: z.number().int().min(1).max(9).default(3),
            style: z.enum(['plain', 'warm']).optional(),
          }),
          run: () => ({}),
        }),
        count: {
          description: 'Counts words.',
          priceUsd: '0',
          params: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
          run: () => ({}),
        },
      },
    },
    {
      kind: 'code',
      id: 'talk',
      name: 'Talk',
      chat: {
        pricing: { inputPer1kUsd: '0.0005', outputPer1kUsd: '2', toolCallUsd: '0.01' },
        contextTokens: 1000,
        async *reply() {},
      },
    },
    { kind: 'code', id: 'empty', name: 'Empty' },
    {
      kind: 'code',
      id: 'private',
      name: 'Private',
      visibility: ['friend@example.com'],
      endpoints: { run: { description: 'Runs.', priceUsd: '1', params: {}, run: () => ({}) } },
    },
  ],
})

const text = {
  id: 'text',
  kind: 'code',
  name: 'Text tools',
  description: 'Works on texts.',
  chat: null,
  inPlan: true,
  endpoints: [
    {
      id: 'text.shorten',
      name: 'shorten',
      description: 'Shortens a text.',
      priceUsd: '0.5000',
      timeoutSeconds: 12.5,
      cancel: 'always',
      takesConnectors: false,
      params: {
        type: 'object',
        properties: {
          text: { type: 'string', minLength: 1, description: 'What to shorten' },
          sentences: { type: 'integer', minimum: 1, maximum: 9, default: 3 },
          style: { type: 'string', enum: ['plain', 'warm'] },
        },
        required: ['text'],
        additionalProperties: false,
      },
    },
    {
      id: 'text.count',
      name: 'count',
      description: 'Counts words.',
      priceUsd: '0.0000',
      timeoutSeconds: 300,
      cancel: 'always',
      takesConnectors: true,
      params: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    },
  ],
}
const talk = {
  id: 'talk',
  kind: 'code',
  name: 'Talk',
  description: '',
  endpoints: [],
  chat: {
    pricing: {
      inputPerMillionUsd: '0.5',
      cacheReadPerMillionUsd: '0.5',
      cacheWritePerMillionUsd: '0.5',
      cacheWrite1hPerMillionUsd: '0.5',
      outputPerMillionUsd: '2000',
      reasoningPerMillionUsd: '2000',
      inputPer1kUsd: '0.0005',
      cachedInputPer1kUsd: '0.0005',
      outputPer1kUsd: '2',
      reasoningPer1kUsd: '2',
      toolCallUsd: '0.01',
    },
    contextTokens: 1000,
    maxOutputTokens: 4096,
    accepts: [],
    reasoning: false,
    takesConnectors: true,
  },
  inPlan: true,
}
const empty = { id: 'empty', kind: 'code', name: 'Empty', description: '', endpoints: [], chat: null, inPlan: true }
const hidden = {
  id: 'private',
  kind: 'code',
  name: 'Private',
  description: '',
  chat: null,
  inPlan: true,
  endpoints: [
    {
      id: 'private.run',
      name: 'run',
      description: 'Runs.',
      priceUsd: '1.0000',
      timeoutSeconds: 300,
      cancel: 'always',
      takesConnectors: true,
      params: {},
    },
  ],
}
const notFound = {
  error: 'Not found',
  message: 'Agent not found. GET /api/agents lists the available agents.',
  statusCode: 404,
  code: 'NOT_FOUND',
}

test('lists the configured agents in order, with endpoints, JSON Schemas and prices', async () => {
  const service = await startService({ config })
  const { key } = await service.createPerson()
  const { body, status } = await service.get('/api/agents', key)
  expect(status).toBe(200)
  expect(body).toEqual({ agents: [text, talk, empty], total: 3, limit: 50, offset: 0 })
  await service.stop()
})

test("marks agents outside the plan or the account's limits and rejects their runs", async () => {
  const plans = { free: { agents: ['talk'] }, all: {}, texts: { agents: ['text', 'talk'] } }
  const service = await startService({ config: { ...config, plans, defaultPlan: 'free' } })
  const { key, userId } = await service.createPerson()
  const inPlan = async () => {
    const { agents } = (await service.get('/api/agents', key)).body as { agents: { id: string; inPlan: boolean }[] }
    for (const { id, inPlan: listed } of agents) {
      expect((await service.get(`/api/agents/${id}`, key)).body.inPlan).toBe(listed)
    }
    return agents.filter((agent) => agent.inPlan).map(({ id }) => id)
  }
  expect(await inPlan()).toEqual(['talk'])
  const plansOf = async (id: string) => (await service.get(`/api/agents/${id}`, key)).body.plans
  expect([await plansOf('text'), await plansOf('empty')]).toEqual([['all', 'texts'], ['all']])
  expect(await plansOf('talk')).toBeUndefined()
  expect((await service.createTask(key, 'text.count', { text: 'one' })).status).toBe(403)
  await service.app.store.changeAccountLimits({ userId, changes: { agents: ['text'] } })
  expect(await inPlan()).toEqual(['text'])
  expect((await service.createTask(key, 'text.count', { text: 'one' })).status).toBe(200)
  await service.stop()
})

test('reading a single agent returns the same as the list', async () => {
  const service = await startService({ config })
  const { key } = await service.createPerson()
  const read = (id: string) => service.get(`/api/agents/${id}`, key)
  const answers = [await read('text'), await read('talk'), await read('empty')]
  expect(answers.map(({ body, status }) => [status, body])).toEqual([
    [200, text],
    [200, talk],
    [200, empty],
  ])
  await service.stop()
})

test('a private agent is visible to its users; everyone else gets 404', async () => {
  const service = await startService({ config })
  const [stranger, friend] = [await service.createPerson(), await service.createPerson({ email: 'FRIEND@example.com' })]
  for (const id of ['private', 'nothing', 'text.shorten', 'x'.repeat(200)]) {
    const { body, status } = await service.get(`/api/agents/${id}`, stranger.key)
    expect([status, body]).toEqual([404, notFound])
  }
  expect((await service.get('/api/agents', friend.key)).body).toEqual({
    agents: [text, talk, empty, hidden],
    total: 4,
    limit: 50,
    offset: 0,
  })
  const read = await service.get('/api/agents/private', friend.key)
  expect([read.status, read.body]).toEqual([200, hidden])
  await service.stop()
})

test('pages and totals count only agents visible to the caller', async () => {
  const service = await startService({ config })
  const { key } = await service.createPerson()
  expect((await service.get('/api/agents?limit=1&offset=2', key)).body).toEqual({
    agents: [empty],
    total: 3,
    limit: 1,
    offset: 2,
  })
  expect((await service.get('/api/agents?offset=3', key)).body).toEqual({ agents: [], total: 3, limit: 50, offset: 3 })
  await service.stop()
})

test('charges the listed price and validates against the listed schema', async () => {
  const service = await startService({ config })
  const { key } = await service.createPerson({ balanceUsd: '1.0000' })
  const task = await service.runTask(key, 'text.shorten', { text: 'Hello.' })
  expect(task.costUsd).toBe(text.endpoints[0]!.priceUsd)
  const refused = await service.createTask(key, 'text.shorten', { text: 'Hello.', style: 'loud' })
  expect([refused.status, refused.body.details[0].path]).toEqual([400, 'params.style'])
  await service.stop()
})

test('returns 400 for an invalid limit, offset or agent id', async () => {
  const service = await startService({ config })
  const { key } = await service.createPerson()
  const wrong = { limit: '?limit=0', offset: '?offset=-1', agentId: `/${'x'.repeat(201)}` }
  for (const [field, rest] of Object.entries({ ...wrong, 'agentId ': '/%E0%A4' })) {
    const { body, status } = await service.get(`/api/agents${rest}`, key)
    expect(status, rest).toBe(400)
    expect(body).toEqual({
      error: 'Bad request',
      message: `${field.trim()}: ${body.details[0].message}`,
      statusCode: 400,
      code: 'BAD_REQUEST',
      details: [{ path: field.trim(), message: expect.stringMatching(/./) }],
    })
  }
  await service.stop()
})

test('returns 403 for a key without the scope read', async () => {
  const service = await startService({ config })
  const { key } = await service.createPerson({ scopes: ['execute'] })
  for (const path of ['/api/agents', '/api/agents/text']) {
    const { body, status } = await service.get(path, key)
    expect([status, body]).toEqual([
      403,
      {
        error: 'Forbidden',
        message: 'This API key lacks permission for this operation. Use a credential with the scope "read".',
        statusCode: 403,
        code: 'FORBIDDEN',
      },
    ])
  }
  await service.stop()
})
