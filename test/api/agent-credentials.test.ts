import { expect, test } from 'vitest'
import { defineConfig } from '../../server/agents/config/define-config.ts'
import { startService, type TestService } from '../support/test-service.ts'
import { sessionAgents } from './session-calls.ts'
import { expectStatus } from './signed-in.ts'

// A message to `one` or `two` costs 0.02 USD, and a task of `job.run` costs 0.01 USD.
const config = defineConfig({
  agents: [
    ...sessionAgents.agents,
    {
      kind: 'code',
      id: 'job',
      name: 'Job',
      endpoints: {
        run: { description: 'Is a task.', priceUsd: '0.0100', params: {}, run: () => ({ done: true }) },
        wait: {
          description: 'Ends when it is stopped.',
          priceUsd: '0.0100',
          params: {},
          run: ({ signal }) =>
            new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
        },
      },
    },
  ],
})

const free = { executionsPerMinute: 0 }

function start(options: Parameters<typeof startService>[0] = {}): Promise<TestService> {
  return startService({ config, limits: free, ...options })
}

async function tokenBy(service: TestService, key: string, input: object = {}) {
  return await expectStatus(200, service.post('/api/client-tokens', input, { key }))
}

const task = { endpointId: 'job.run', params: {} }
const chat = (service: TestService, key: string, sessionId: string) =>
  service.post('/api/chat', { sessionId, message: 'Hello' }, { key, headers: { Accept: 'application/json' } })
const openSession = async (service: TestService, key: string, agentId = 'one'): Promise<string> =>
  (await expectStatus(200, service.post('/api/sessions', { agentId }, { key }))).sessionId

test('a token or key limited to one agent cannot change runs of other agents', async () => {
  const service = await start()
  const { key } = await service.createPerson()
  const { taskId } = await expectStatus(200, service.post('/api/tasks', { ...task, endpointId: 'job.wait' }, { key }))
  const [own, other] = [await openSession(service, key, 'one'), await openSession(service, key, 'two')]
  expect((await chat(service, key, other)).status).toBe(200)
  const { turnId } = (await service.get(`/api/sessions/${other}/messages`, key)).body.messages[1]
  const limited = await expectStatus(200, service.post('/api/keys', { name: 'limited', agents: ['one'] }, { key }))
  for (const by of [(await tokenBy(service, key, { agents: ['one'] })).token, limited.key]) {
    for (const [method, path, body] of [
      ['POST', `/api/tasks/${taskId}/cancel`, {}],
      ['PATCH', `/api/sessions/${other}`, { status: 'completed' }],
      ['DELETE', `/api/sessions/${other}`],
      ['POST', `/api/chat/${turnId}/stop`, {}],
      ['DELETE', `/v1/responses/${turnId.replace('turn', 'resp')}`],
    ] as const) {
      expect((await service.request(method, path, { key: by, body })).status, `${method} ${path}`).toBe(403)
    }
    expect((await service.request('DELETE', '/api/sessions/ses_nobody', { key: by })).status).toBe(404)
    expect(
      (await service.request('PATCH', `/api/sessions/${own}`, { key: by, body: { tags: { a: 'b' } } })).status,
    ).toBe(200)
  }
  expect((await service.get(`/api/sessions/${other}`, key)).body).toMatchObject({ status: 'active', messageCount: 2 })
  expect(['pending', 'processing']).toContain((await service.get(`/api/tasks/${taskId}`, key)).body.status)
  expect((await service.request('DELETE', `/api/sessions/${own}`, { key: limited.key })).status).toBe(200)
  expect((await service.post(`/api/tasks/${taskId}/cancel`, {}, { key })).body.status).toBe('failed')
  await service.stop()
})
