import { tool } from 'ai'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { Catalogue } from '../../../server/agents/config/catalogue.ts'
import type { OpenAIAgentConfig } from '../../../server/agents/config/define-config.ts'
import { expectOneEnd, priceOf, soon, Talker, textOf, unitsOf } from '../../chat/chat-checks.ts'
import { endless, ModelProvider, refuse, reply, replyThen } from '../../support/model-provider.ts'
import { startService } from '../../support/test-service.ts'
import { modelPricing, secretKey } from '../model-agents.ts'
import { expectFailedChat, expectFailedTask, expectSound, onlyCharge } from '../model-checks.ts'

const weather = tool({
  description: 'The weather of a city.',
  inputSchema: z.object({ city: z.string() }),
  execute: ({ city }) => ({ city, celsius: 21 }),
})

function agentFor(baseUrl: string): OpenAIAgentConfig {
  return {
    kind: 'openai',
    id: 'model',
    name: 'Model',
    baseUrl,
    model: 'stub-1',
    apiKey: secretKey,
    tools: { weather },
    pricing: modelPricing,
    endpoints: {
      draft: {
        description: 'Asks the model.',
        priceUsd: '0.0100',
        params: z.object({ subject: z.string() }),
        prompt: ({ subject }) => subject,
      },
    },
  }
}

async function startOpenAI() {
  const provider = await ModelProvider.start()
  const service = await startService({
    config: { agents: [agentFor(`${provider.url}/v1`)] },
    limits: { executionsPerMinute: 0, abuseFailures: 0 },
  })
  const stop = async () => {
    await service.stop()
    await provider.stop()
  }
  return { provider, service, stop }
}

test('an agent of kind openai calls its URL with its key, model and tools, and charges the reported tokens', async () => {
  const world = await startOpenAI()
  const talker = await Talker.create(world.service, { agentId: 'model' })
  world.provider.play(
    reply({ reasoning: ['Hm.'], text: ['I look. '], calls: [{ id: 'a', name: 'weather', args: '{"city":"Paris"}' }] }),
    reply({ text: ['21 ', '°C.'] }),
  )
  const events = await talker.chat('How is the weather in Paris?')
  expect(textOf(events)).toBe('I look. 21 °C.')
  const { costUsd, usage } = expectOneEnd(events, 'done')
  expect(usage).toMatchObject({ promptTokens: 200, completionTokens: 40, toolCalls: 1 })
  const { breakdown } = await onlyCharge(talker)
  expect(breakdown).toMatchObject({ isEstimated: false })
  expect(unitsOf(costUsd)).toBe(priceOf(breakdown))
  const [{ body, headers, path }] = world.provider.requests as [any]
  expect(path).toBe('/v1/chat/completions')
  expect(headers).toMatchObject({ authorization: `Bearer ${secretKey}`, 'user-agent': expect.any(String) })
  expect(body).toMatchObject({ model: 'stub-1', stream: true, stream_options: { include_usage: true } })
  expect(body.tools).toMatchObject([{ function: { name: 'weather' } }])
  const { body: agent } = await world.service.get('/api/agents', talker.key)
  expect(agent.agents).toMatchObject([{ id: 'model', kind: 'model' }])
  await expectSound(world, talker)
  await world.stop()
})

test('an agent of kind openai retries a busy server, and describes a server that fails or is not there', async () => {
  const world = await startOpenAI()
  const talker = await Talker.create(world.service, { agentId: 'model' })
  world.provider.play(refuse(429, 'Slow down.'), reply({ text: ['Ready.'] }))
  expect(textOf(await talker.chat('Hello'))).toBe('Ready.')
  world.provider.play(refuse(401, 'Wrong key.'))
  await expectFailedChat(talker, /responded with 401: Wrong key\./)
  world.provider.play(replyThen({ text: ['One '] }, (response) => void response.destroy()))
  await expectFailedChat(talker, /lost|closed the connection/)
  const person = await world.service.createPerson()
  await world.provider.stop()
  await expectFailedTask(world.service, person, { message: /^Could not reach the model provider/ })
  await world.service.stop()
})

test('a stopped reply of an agent of kind openai closes its connection', async () => {
  const world = await startOpenAI()
  const talker = await Talker.create(world.service, { agentId: 'model' })
  world.provider.play(endless('word '))
  const reader = await talker.open('Hello')
  await reader.until('assistant_delta')
  reader.leave()
  await expect.poll(() => world.provider.requests[0]?.abortedAt ?? null, soon).not.toBeNull()
  await talker.settled()
  expect(await onlyCharge(talker)).toMatchObject({ breakdown: { isEstimated: true } })
  await world.stop()
})

test.each([
  ['agents[0].baseUrl: must be an http or https URL', { baseUrl: 'ftp://models.example.com' }],
  ['agents[0].model: ', { model: '' }],
  ['agents[0].apiKey: ', { apiKey: '' }],
])('an agent of kind openai does not start if %s', (message, wrong) => {
  const agent = { ...agentFor('https://models.example.com/v1'), ...wrong }
  expect(() => new Catalogue({ agents: [agent] }, null)).toThrow(message)
})
