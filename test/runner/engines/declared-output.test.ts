import { expect, test } from 'vitest'
import { z } from 'zod'
import { Catalogue } from '../../../server/agents/config/catalogue.ts'
import { defineConfig, defineEndpoint, type JsonSchema } from '../../../server/agents/config/define-config.ts'
import { ConfigError } from '../../../server/kernel/settings.ts'
import { startService } from '../../support/test-service.ts'
import { startAgentService } from '../agent-service.ts'
import { moneyOf, refundedOnce, unlimited } from '../task-checks.ts'

const fields = { description: 'Returns a value.', priceUsd: '0.0100', params: {} }
const Summary = z.object({ summary: z.string(), sentences: z.array(z.object({ score: z.number() })).default([]) })
const jsonSchema: JsonSchema = { type: 'object', properties: { words: { type: 'integer' } }, required: ['words'] }
const unchecked = z.object({}).refine(() => {
  throw new Error('The schema has a bug.')
})

function configFor(url: string) {
  return defineConfig({
    agents: [
      {
        kind: 'code',
        id: 'text',
        name: 'Text',
        endpoints: {
          good: defineEndpoint({
            ...fields,
            output: Summary,
            run: () => ({ summary: 'Short.', internal: 'hidden' }),
          }),
          wrong: {
            ...fields,
            output: Summary,
            run: () => ({ summary: '', sentences: [{ score: 1 }, { score: '2' }] }),
          },
          text: { ...fields, output: Summary, run: async () => 'Short.' },
          json: { ...fields, output: jsonSchema, run: () => ({ words: 1.5 }) },
          bug: { ...fields, output: unchecked, run: () => ({}) },
          any: { ...fields, run: () => ({ summary: 1, internal: 'shown' }) },
        },
      },
      {
        kind: 'http',
        id: 'remote',
        name: 'Remote',
        url,
        secret: `whsec_${Buffer.alloc(32).toString('base64')}`,
        endpoints: { read: { ...fields, output: Summary } },
      },
    ],
  })
}

test('a result that does not match the output schema fails the task, names the field and is refunded', async () => {
  const remote = await startAgentService((response) => {
    response.setHeader('content-type', 'application/json').end('{"summary":null}')
  })
  const service = await startService({ config: configFor(remote.url), limits: unlimited })
  const { key } = await service.createPerson()
  const errors: Record<string, string> = {}
  for (const endpoint of ['text.wrong', 'text.text', 'text.json', 'text.bug', 'remote.read']) {
    const task = await service.runTask(key, endpoint, {})
    expect(task).toMatchObject({ status: 'failed', response: null, error: { code: 'AGENT_OUTPUT_INVALID' } })
    expect(await moneyOf(service, key, task.id)).toEqual(refundedOnce)
    errors[endpoint] = task.error.message
  }
  const mismatch = "The agent's result does not match its output schema."
  expect(errors).toEqual({
    'text.wrong': `${mismatch} response.sentences[1].score: Must be a number`,
    'text.text': `${mismatch} response: Must be an object`,
    'text.json': `${mismatch} response.words: Must be a whole number`,
    'text.bug': "The agent's result could not be checked against its output schema. Report this to the agent's author.",
    'remote.read': `${mismatch} response.summary: Must be a string`,
  })
  await service.stop()
  await remote.stop()
})

test('a result that matches loses unknown fields and gains defaults; without an output schema it stays unchanged', async () => {
  const service = await startService({ config: configFor('http://127.0.0.1:9'), limits: unlimited })
  const { key } = await service.createPerson()
  expect(await service.runTask(key, 'text.good', {})).toMatchObject({
    status: 'completed',
    response: { summary: 'Short.', sentences: [] },
  })
  expect((await service.runTask(key, 'text.good', {})).response).not.toHaveProperty('internal')
  expect((await service.runTask(key, 'text.any', {})).response).toEqual({ summary: 1, internal: 'shown' })

  const { endpoints } = (await service.get('/api/agents/text', key)).body
  const outputOf = (name: string) => endpoints.find((one: { name: string }) => one.name === name).output
  expect(outputOf('good')).toMatchObject({ type: 'object', required: ['summary', 'sentences'] })
  expect(outputOf('json')).toEqual(jsonSchema)
  expect(outputOf('any')).toBeUndefined()
  await service.stop()
})

test('an output schema of anything but an object stops the start', () => {
  const endpoints = { list: { ...fields, output: z.array(z.string()), run: () => [] } }
  expect(() => new Catalogue({ agents: [{ kind: 'code', id: 'text', name: 'Text', endpoints }] }, null)).toThrow(
    new ConfigError(
      'agents: a schema of "text.list" is unusable: the output schema does not describe an object. Use a Zod schema or a JSON Schema',
    ),
  )
})
