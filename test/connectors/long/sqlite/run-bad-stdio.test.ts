import { expect, test } from 'vitest'
import { expectFailedChat } from '../../../models/model-checks.ts'
import type { ToolUse } from '../../run-agents.ts'
import {
  completeTask,
  connect,
  createTask,
  expectOwnFailure,
  expectSound,
  expectTaskFailed,
  expectToldOnly,
  startWorld,
  talkWith,
  type World,
} from '../../run-checks.ts'

// Stdio servers that fail their runs: concurrent tasks and chats of both kinds of agents, next to a run with a healthy
// server.

type Fault = { server: string; calls?: ToolUse[]; message: RegExp }

async function expectAllFailed(world: World, { calls = [], message, server }: Fault): Promise<void> {
  const person = await world.service.createPerson()
  const wellIds = [await connect(world, person, { server: 'serve' })]
  const well = { endpointId: 'code.call', params: { calls: [{ name: 'fail' }] }, connectorIds: wellIds }
  const ways = ['code', 'model'].map(async (agentId) => {
    const own = await world.service.createPerson()
    const connectorIds = [await connect(world, own, { name: `Bad ${server}`, server })]
    const taskId = await createTask(world, own, { endpointId: `${agentId}.call`, params: { calls }, connectorIds })
    const expectTask = calls.length > 0 ? expectToldOnly : expectTaskFailed
    await expectTask(world, own, { taskId, message })
    const talker = await talkWith(world, { agentId, connectorIds, person: own })
    const expectEnd = calls.length > 0 ? expectOwnFailure : expectFailedChat
    await expectEnd(talker, message, JSON.stringify(calls))
  })
  await Promise.all([...ways, completeTask(world, person, well)])
  await expectSound(world)
}

const early = "before it responded\\. Check the server's log\\.$"
const faults: Fault[] = [
  {
    server: 'missing',
    message: /^Connector "Bad missing": Could not start the connector's server: its command was not found\. Ask/,
  },
  { server: 'exit', message: new RegExp(`^Connector "Bad exit": .* exited with code 3 ${early}`) },
  {
    server: 'garbage',
    message:
      /^Connector "Bad garbage": .* wrote something other than MCP messages to its standard output\. Make it log to standard error\.$/,
  },
]

test.for(faults)('an unusable server ($server) fails only its own runs', async (fault) => {
  const world = await startWorld()
  await expectAllFailed(world, fault)
  await world.stop()
})

const callFaults = [
  { name: 'exit', message: new RegExp(`^Connector "Bad serve": .* exited with code 3 ${early}`) },
  {
    name: 'garbage',
    message:
      /^Connector "Bad serve": .* wrote something other than MCP messages to its standard output\. Make it log to standard error\.$/,
  },
  {
    name: 'wrong',
    message: /^Connector "Bad serve": .* violated the Model Context Protocol\. Report this to its operator\.$/,
  },
  {
    name: 'fill',
    args: { chars: 11_000_000 },
    message: /^Connector "Bad serve": .* sent a message of more than 10485760 bytes\. Request a smaller response\.$/,
  },
]

test.for(callFaults)(
  'a server that fails during a call ($name) fails only its own runs',
  async ({ message, ...use }) => {
    const world = await startWorld({ inThreads: use.name === 'exit' })
    await expectAllFailed(world, { server: 'serve', calls: [use], message })
    await world.stop()
  },
)

const answered = [
  { use: { name: 'fail' }, text: 'The file is not there.' },
  { use: { name: 'refuse' }, text: 'a must be a number' },
  {
    use: { name: 'fill', args: { chars: 3_000_000 } },
    text: 'The tool answered with more than 2097152 characters. Request a shorter result.',
  },
]

test.for(answered)(
  "passes a server's error result ($use.name) to the agent as a tool result",
  async ({ text, use }) => {
    const world = await startWorld()
    const person = await world.service.createPerson()
    const connectorIds = [await connect(world, person, { server: 'serve' })]
    const calls = [use, { name: 'fail' }]
    const { answers } = await completeTask(world, person, { endpointId: 'code.call', params: { calls }, connectorIds })
    expect(answers[0]).toMatchObject({ isError: true, text })
    expect(answers).toHaveLength(2)
    const talker = await talkWith(world, { agentId: 'model', connectorIds, person })
    const events = await talker.chat(JSON.stringify([use]))
    expect(events.find(({ type }) => type === 'tool_result').toolResult.output).toMatchObject({ isError: true })
    expect(world.provider.bodies.at(-1).messages.at(-1)).toMatchObject({ role: 'tool', content: text })
    expect(events.at(-1)).toMatchObject({ type: 'done', usage: { toolCalls: 1 } })
    await expectSound(world)
    await world.stop()
  },
)

test("rejects a server's requests to the client and still receives the call's result", async () => {
  const world = await startWorld()
  const person = await world.service.createPerson()
  const connectorIds = [await connect(world, person, { server: 'serve' })]
  const params = { calls: [{ name: 'ask' }] }
  const { answers } = await completeTask(world, person, { endpointId: 'code.call', params, connectorIds })
  const told = JSON.parse(answers[0].text)
  expect(told.map(({ id }: any) => id).toSorted()).toEqual(['r1', 'r2', 'r3'])
  for (const { error } of told) expect(error.code).toBe(-32601)
  await expectSound(world)
  await world.stop()
})

test('child processes of a server end with it', async () => {
  const world = await startWorld()
  const person = await world.service.createPerson()
  const connectorIds = [await connect(world, person, { server: 'serve' })]
  const params = { calls: [{ name: 'spawn' }] }
  const { answers } = await completeTask(world, person, { endpointId: 'code.call', params, connectorIds })
  expect(answers[0].text).toBe('spawned')
  await expectSound(world)
  await world.stop()
})
