import { mkdtempSync, rmSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { z } from 'zod'
import { claudeAgentReply } from '../../../server/agents/adapters/claude-agent-reply.ts'
import { expectOneEnd, soon, textOf, unitsOf } from '../../chat/chat-checks.ts'
import { refuse, type Script } from '../../support/model-provider.ts'
import { AdapterWorld, key } from '../adapter-contract.ts'
import { loadFrameworks } from '../load-framework.ts'

// The SDK's own program, whose requests a stub of Anthropic's Messages API answers.

const home = mkdtempSync(join(tmpdir(), 'errand-claude-'))
afterAll(() => rmSync(home, { recursive: true, force: true }))

async function start(options: object = {}): Promise<AdapterWorld> {
  const { createSdkMcpServer, query, tool } = await (
    await loadFrameworks('claude-agent')
  )('@anthropic-ai/claude-agent-sdk')
  const weather = tool('weather', 'The weather of a city.', { city: z.string() }, async ({ city }: any) => ({
    content: [{ type: 'text', text: `${city}: 21 °C` }],
  }))
  return await AdapterWorld.start((url) =>
    claudeAgentReply(query, {
      model: 'claude-sonnet-4-5',
      systemPrompt: 'Be brief.',
      ...options,
      tools: [],
      settingSources: [],
      mcpServers: { tools: createSdkMcpServer({ name: 'tools', tools: [weather] }) },
      allowedTools: ['mcp__tools__weather'],
      env: {
        PATH: process.env['PATH'],
        HOME: home,
        CLAUDE_CONFIG_DIR: home,
        ANTHROPIC_BASE_URL: url.replace(/\/v1$/, ''),
        ANTHROPIC_API_KEY: key,
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        CLAUDE_CODE_MAX_RETRIES: '1',
      },
    }),
  )
}

let messages = 0

function begin(
  response: ServerResponse,
  inputTokens = 50,
): (event: { type: string; [field: string]: unknown }) => void {
  response.writeHead(200, { 'Content-Type': 'text/event-stream' })
  const send = (event: { type: string }) =>
    void response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
  const usage = { input_tokens: inputTokens, output_tokens: 1 }
  const message = { id: `msg_${++messages}`, type: 'message', role: 'assistant', model: 'claude-sonnet-4-5' }
  send({ type: 'message_start', message: { ...message, content: [], stop_reason: null, usage } } as never)
  return send
}

type Answer = { text?: string; tools?: string[]; input?: number; output?: number }

function answer({ input = 50, output = 7, text = '', tools = [] }: Answer): Script {
  return (response) => {
    const send = begin(response, input)
    send({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } })
    send({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })
    send({ type: 'content_block_stop', index: 0 })
    for (const [at, city] of tools.entries()) {
      const block = { type: 'tool_use', id: `toolu_${messages}_${at}`, name: 'mcp__tools__weather', input: {} }
      const delta = { type: 'input_json_delta', partial_json: JSON.stringify({ city }) }
      send({ type: 'content_block_start', index: at + 1, content_block: block })
      send({ type: 'content_block_delta', index: at + 1, delta })
      send({ type: 'content_block_stop', index: at + 1 })
    }
    const stop = tools.length > 0 ? 'tool_use' : 'end_turn'
    send({ type: 'message_delta', delta: { stop_reason: stop }, usage: { output_tokens: output } })
    send({ type: 'message_stop' })
    response.end()
  }
}

test('shows text and tools of the Claude Agent SDK, and charges the usage of each call', async () => {
  const world = await start()
  world.provider.play(
    answer({ text: 'I look. ', tools: ['Paris', 'Rome'] }),
    answer({ text: 'It is warm.', input: 90, output: 8 }),
  )
  const events = await world.talker.chat('How is the weather?')
  const end = expectOneEnd(events, 'done')
  expect(textOf(events)).toBe('I look. It is warm.')
  const called = events.filter(({ type }) => type === 'tool_call').map(({ toolCall }) => toolCall.arguments)
  expect(called).toEqual([{ city: 'Paris' }, { city: 'Rome' }])
  expect(events.filter(({ type }) => type === 'tool_result')).toHaveLength(2)
  expect(end.usage).toMatchObject({ promptTokens: 140, completionTokens: 15, toolCalls: 2 })
  expect((await world.charge()).breakdown.isEstimated).toBe(false)
  world.provider.play(answer({ text: 'Again.' }))
  expect(textOf(await world.talker.chat('And now?'))).toBe('Again.')
  const sent = JSON.stringify(world.provider.bodies[0].messages)
  for (const text of ['How is the weather?', 'It is warm.', 'And now?']) expect(sent).toContain(text)
  await world.stop()
})

test("a task of the Claude Agent SDK returns the agent's last text and charges its usage", async () => {
  const world = await start()
  world.provider.play(
    answer({ text: 'I look. ', tools: ['Paris'] }),
    answer({ text: 'It is warm.', input: 90, output: 8 }),
  )
  const task = await world.task('How is the weather?')
  expect(task).toMatchObject({
    response: { text: 'It is warm.' },
    tokens: { promptTokens: 140, completionTokens: 15, toolCalls: 1, isEstimated: false },
    progress: { message: 'Step 2' },
  })
  await world.stop()
})

test('the cap of a session stops the Claude Agent SDK', async () => {
  const world = await start()
  const path = `/api/sessions/${world.talker.sessionId}`
  await world.talker.service.request('PATCH', path, { key: world.talker.key, body: { maxCostUsd: '0.0500' } })
  world.provider.play(answer({ tools: ['Paris'], input: 100, output: 20 }))
  const end = expectOneEnd(await world.talker.chat('Hello'), 'error')
  expect(end.error.code).toBe('BUDGET_REACHED')
  expect(unitsOf(end.costUsd)).toBeLessThanOrEqual(500)
  expect(world.provider.requests.length).toBeLessThanOrEqual(6)
  await world.charge()
  await world.stop()
})

test('a reply that the client leaves ends the program of the Claude Agent SDK', async () => {
  const world = await start()
  world.provider.play((response) => {
    const send = begin(response)
    send({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } })
    const delta = { type: 'text_delta', text: 'word ' }
    const timer = setInterval(() => send({ type: 'content_block_delta', index: 0, delta }), 5)
    response.on('close', () => clearInterval(timer))
  })
  const reader = await world.talker.open('Hello')
  await reader.until('assistant_delta')
  reader.leave()
  await expect.poll(() => world.provider.requests[0]?.abortedAt ?? null, soon).not.toBeNull()
  const { breakdown } = await world.charge()
  expect(breakdown).toMatchObject({ promptTokens: 50, isEstimated: true })
  await world.stop()
})

test('a provider that rejects the request of the Claude Agent SDK fails the turn, which is free', async () => {
  const world = await start()
  world.provider.play(refuse(401, 'Wrong key.'))
  const events = await world.talker.chat('Hello')
  expect(expectOneEnd(events, 'error')).toMatchObject({ error: { code: 'AGENT_ERROR' }, costUsd: '0.0000' })
  expect(JSON.stringify(events)).not.toContain(key)
  await world.sound()
  await world.stop()
})

test("a reply that reaches the SDK's own limit on turns ends, and costs its model calls", async () => {
  const world = await start({ maxTurns: 2 })
  world.provider.play(answer({ text: 'I look. ', tools: ['Paris'], input: 100, output: 20 }))
  const end = expectOneEnd(await world.talker.chat('Hello'), 'done')
  expect(end.finishReason).toBe('length')
  const calls = world.provider.requests.length
  expect((await world.charge()).breakdown).toMatchObject({ promptTokens: calls * 100, completionTokens: calls * 20 })
  await world.stop()
})
