import { expect, test } from 'vitest'
import { expectOneEnd, priceOf, textOf, unitsOf } from '../../../chat/chat-checks.ts'
import { ofTier } from '../../../run/tiers.ts'
import { completeTask, connect, expectSound, startWorld, talkWith } from '../../run-checks.ts'
import { startEverything } from '../../run-http-server.ts'

// A server with the complete protocol, over both transports, with agents of both kinds, inline and in threads.

const each = [
  { transport: 'stdio', inThreads: true },
  { transport: 'http', inThreads: false },
]
const places = ofTier(each, [...each, { transport: 'stdio', inThreads: false }, { transport: 'http', inThreads: true }])

test.for(places)('runs tools over $transport, in threads: $inThreads', async ({ inThreads, transport }) => {
  const http = transport === 'http' ? await startEverything() : undefined
  const world = await startWorld({ inThreads, ...(http && { privateHosts: [http.host] }) })
  const person = await world.service.createPerson()
  const id = await connect(world, person, http ? { url: http.url } : { server: 'everything' })
  const connectorIds = [id]
  const calls = [{ name: 'get-sum', args: { a: 2, b: 40 } }]
  const said = 'The sum of 2 and 40 is 42.'

  const byCode = await completeTask(world, person, { endpointId: 'code.call', params: { calls }, connectorIds })
  expect(byCode.answers).toEqual([{ content: [{ type: 'text', text: said }], isError: false, text: said }])
  expect(byCode.tools.find(({ name }: any) => name === 'get-sum')).toMatchObject({
    connectorId: id,
    connectorName: expect.stringMatching(/^Connector \d+$/),
    description: 'Returns the sum of two numbers',
    inputSchema: { type: 'object', properties: { a: { type: 'number' } }, required: ['a', 'b'] },
  })
  const byModel = await completeTask(world, person, { endpointId: 'model.call', params: { calls }, connectorIds })
  expect(byModel).toEqual({ text: `Told: ${said}` })

  for (const agentId of ['code', 'model']) {
    const talker = await talkWith(world, { agentId, connectorIds, person })
    const events = await talker.chat(JSON.stringify(calls))
    const types = events.map(({ type }) => type).filter((type, at, all) => type !== all[at - 1])
    expect(types).toEqual(['tool_call', 'tool_result', 'assistant_delta', 'done'])
    const { toolCall } = events[0]
    expect(toolCall).toEqual({ id: expect.any(String), name: 'get-sum', arguments: { a: 2, b: 40 } })
    const output = { content: [{ type: 'text', text: said }], isError: false }
    expect(events[1].toolResult).toEqual({ id: toolCall.id, output })
    expect(textOf(events)).toContain(said)

    const done = expectOneEnd(events, 'done')
    expect(done.usage.toolCalls).toBe(1)
    const [charge, ...more] = await talker.charges()
    expect(more).toEqual([])
    expect(charge.amountUsd).toBe(`-${done.costUsd}`)
    expect(charge.breakdown).toMatchObject({ toolCalls: 1, rates: { toolCallUsd: '0.001255' } })
    expect(-unitsOf(charge.amountUsd)).toBe(priceOf(charge.breakdown))
    expect(priceOf({ ...charge.breakdown, toolCalls: 0 })).toBeLessThan(priceOf(charge.breakdown))
    expect(JSON.stringify((await talker.messages()).at(-1))).toContain(JSON.stringify(output))
  }
  await expectSound(world)
  await world.stop()
  await http?.stop()
})
