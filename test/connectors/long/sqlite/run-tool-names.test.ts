import { afterEach, expect, test } from 'vitest'
import { expectOneEnd, priceOf, unitsOf } from '../../../chat/chat-checks.ts'
import { stopAll } from '../../guarded-server.ts'
import { completeTask, connect, createTask, endOf, expectSound, startWorld, talkWith } from '../../run-checks.ts'
import { say, startMcpServer } from '../../run-http-server.ts'

// Tools offered to an agent, their names, and calls to other tools.

afterEach(stopAll)

async function startWithStub(privateHosts: string[] = []) {
  const stub = await startMcpServer()
  const world = await startWorld({ privateHosts: [stub.host, ...privateHosts] })
  const person = await world.service.createPerson()
  const named = (name: string, more: object = {}) => connect(world, person, { name, url: stub.origin, ...more })
  const toolsOf = (at = 0) => world.provider.bodies[at].tools.map(({ function: { name } }: any) => name)
  return { stub, world, person, named, toolsOf }
}

test('sends the provider tools with their schemas, and tool results as text', async () => {
  const world = await startWorld()
  const person = await world.service.createPerson()
  const allowedTools = ['get-sum', 'get-structured-content', 'get-tiny-image']
  const connectorIds = [await connect(world, person, { server: 'everything', allowedTools })]
  const calls = [
    { name: 'get-sum', args: { a: 1, b: 2 } },
    { name: 'get-structured-content', args: { location: 'New York' } },
    { name: 'get-tiny-image' },
  ]
  const { text } = await completeTask(world, person, { endpointId: 'model.call', params: { calls }, connectorIds })
  const [asked, answered, ...more] = world.provider.bodies
  expect(more).toEqual([])
  const sum = asked.tools.find(({ function: { name } }: any) => name === 'get-sum')
  expect(sum).toMatchObject({
    type: 'function',
    function: {
      description: 'Returns the sum of two numbers',
      parameters: {
        type: 'object',
        properties: { a: { type: 'number', description: 'First number' }, b: { type: 'number' } },
        required: ['a', 'b'],
      },
    },
  })
  expect(asked.tools.map(({ function: { name } }: any) => name).toSorted()).toEqual(allowedTools.toSorted())
  const [summed, structured, image] = answered.messages.slice(-3).map(({ content }: any) => content)
  expect(summed).toBe('The sum of 1 and 2 is 3.')
  expect(JSON.parse(structured)).toMatchObject({ temperature: expect.any(Number), conditions: expect.any(String) })
  expect(JSON.parse(image).map(({ type }: any) => type)).toEqual(['text', 'image', 'text'])
  expect(text).toContain('The sum of 1 and 2 is 3.')
  await expectSound(world)
  await world.stop()
})

test("prefixes tools of the same name with their connector's name", async () => {
  const other = await startMcpServer({
    'tools/call': (response, message) => say(response, message, `other ${message.params.name}`),
  })
  const { named, person, toolsOf, world } = await startWithStub([other.host])
  const connectorIds = [await named('First'), await named('Second one', { url: other.origin })]
  const names = ['First_use', 'First_get-sum', 'Second_one_use', 'Second_one_get-sum']
  const calls = names.map((name) => ({ name }))
  const said = ['used use', 'used get-sum', 'other use', 'other get-sum']
  const task = { endpointId: 'code.call', params: { calls, atOnce: true }, connectorIds }
  const { answers, tools } = await completeTask(world, person, task)
  expect(tools.map(({ name }: any) => name)).toEqual(names)
  expect(tools.map(({ connectorId }: any) => connectorId)).toEqual(connectorIds.flatMap((id) => [id, id]))
  expect(answers.map(({ text }: any) => text)).toEqual(said)
  const { text } = await completeTask(world, person, { ...task, endpointId: 'model.call' })
  expect(text).toBe(`Told: ${said.join(' | ')}`)
  expect(toolsOf()).toEqual(names)
  await expectSound(world)
  await world.stop()
})

test("an agent's own tool keeps its name; the connector's namesake gets a prefix", async () => {
  const { named, person, stub, toolsOf, world } = await startWithStub()
  const connectorIds = [await named('Sums')]
  const calls = [{ name: 'get-sum', args: { a: 1, b: 2 } }, { name: 'Sums_get-sum' }, { name: 'use' }]
  const talker = await talkWith(world, { agentId: 'owner', connectorIds, person })
  const events = await talker.chat(JSON.stringify(calls))
  expect(toolsOf().toSorted()).toEqual(['Sums_get-sum', 'get-sum', 'use'])
  const outputs = events.filter(({ type }) => type === 'tool_result').map(({ toolResult }) => toolResult.output)
  const answered = (text: string) => ({ content: [{ type: 'text', text }], isError: false })
  expect(outputs).toEqual(
    expect.arrayContaining([{ result: 'I say 3.' }, answered('used get-sum'), answered('used use')]),
  )
  expect(stub.requests.filter(({ body }) => body.includes('tools/call'))).toHaveLength(2)
  expect(expectOneEnd(events, 'done').usage.toolCalls).toBe(3)
  const [charge] = await talker.charges()
  expect(-unitsOf(charge.amountUsd)).toBe(priceOf(charge.breakdown))
  const task = { endpointId: 'owner.call', params: { calls: calls.slice(0, 1) }, connectorIds }
  expect((await completeTask(world, person, task)).text).toBe('Told: I say 3.')
  await expectSound(world)
  await world.stop()
})

test('replaces invalid tool names with unique valid names that call the right tool', async () => {
  const world = await startWorld()
  const person = await world.service.createPerson()
  const connectorIds = [await connect(world, person, { name: 'Ödd', server: 'odd-names' })]
  const { tools } = await completeTask(world, person, { endpointId: 'code.call', params: {}, connectorIds })
  const names: string[] = tools.map(({ name }: any) => name)
  for (const name of names) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/)
  expect(new Set(names).size).toBe(7)
  const calls = names.map((name) => ({ name }))
  const { answers } = await completeTask(world, person, { endpointId: 'code.call', params: { calls }, connectorIds })
  const own = ['a.b', 'a b', 'ä', 'x'.repeat(100), 'tools/get', '$&', 'constructor']
  expect(answers.map(({ text }: any) => text)).toEqual(own.map((name) => `called ${name}`))
  await completeTask(world, person, { endpointId: 'model.call', params: { calls }, connectorIds })
  const told = world.provider.bodies.at(-1).messages.filter(({ role }: any) => role === 'tool')
  expect(told.map(({ content }: any) => content)).toEqual(own.map((name) => `called ${name}`))
  await expectSound(world)
  await world.stop()
})

test.for(['code', 'model'])('a disallowed tool is neither offered to a %s agent nor called', async (agentId) => {
  const { named, person, stub, toolsOf, world } = await startWithStub()
  const connectorIds = [await named('Restricted', { allowedTools: ['use', 'gone'] })]
  const task = { endpointId: `${agentId}.call`, params: { calls: [{ name: 'get-sum' }] }, connectorIds }
  const ended = await endOf(world, person, await createTask(world, person, task))
  if (agentId === 'code') {
    const message = 'No connector in this run has the tool "get-sum". Call one of the listed tools.'
    expect(ended).toMatchObject({
      status: 'failed',
      error: { code: 'AGENT_ERROR', message, details: 'UnknownToolError' },
    })
  } else {
    expect(toolsOf()).toEqual(['use'])
    expect(ended).toMatchObject({ status: 'completed', response: { text: expect.stringContaining('get-sum') } })
  }
  const talker = await talkWith(world, { agentId, connectorIds, person })
  const events = await talker.chat('[{"name":"get-sum"}]')
  expectOneEnd(events, agentId === 'code' ? 'error' : 'done')
  expect(stub.requests.filter(({ body }) => body.includes('tools/call'))).toEqual([])
  await expectSound(world)
  await world.stop()
})

test('the server reports invalid arguments and the model can try again', async () => {
  const world = await startWorld()
  const person = await world.service.createPerson()
  const connectorIds = [await connect(world, person, { server: 'everything' })]
  const calls = [{ name: 'get-sum', args: { a: 'one' } }]
  const talker = await talkWith(world, { agentId: 'model', connectorIds, person })
  const events = await talker.chat(JSON.stringify(calls))
  expect(events.find(({ type }) => type === 'tool_result').toolResult.output).toMatchObject({ isError: true })
  expect(world.provider.bodies.at(-1).messages.at(-1).content).toMatch(/expected number/i)
  expectOneEnd(events, 'done')
  const { answers } = await completeTask(world, person, { endpointId: 'code.call', params: { calls }, connectorIds })
  expect(answers[0]).toMatchObject({ isError: true, text: expect.stringMatching(/expected number/i) })
  await expectSound(world)
  await world.stop()
})
