import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import type { Person } from '../../../support/test-service.ts'
import { stopAll } from '../../guarded-server.ts'
import { completeTask, connect, expectSound, startWorld, type World } from '../../run-checks.ts'
import { result, say, startEverything, startMcpServer } from '../../run-http-server.ts'

// Runs of several users share one MCP server concurrently: each gets the responses to its own calls.

afterEach(stopAll)

const runs = 8
const callsOfRun = 4

async function expectOwnAnswers(world: World, people: readonly { person: Person; connectorId: string }[]) {
  const one = async (n: number) => {
    const { connectorId, person } = people[n % people.length]!
    const sums = Array.from({ length: callsOfRun }, (_, call) => ({ a: n * 1000, b: call }))
    const calls = sums.map((args) => ({ name: 'get-sum', args }))
    const params = { calls, atOnce: true }
    const task = { endpointId: 'code.call', params, connectorIds: [connectorId] }
    const { answers } = await completeTask(world, person, task)
    expect(answers.map(({ text }: { text: string }) => text)).toEqual(
      sums.map(({ a, b }) => expect.stringMatching(new RegExp(`\\b${a + b}\\b`))),
    )
  }
  await Promise.all(Array.from({ length: runs }, (_, n) => one(n)))
}

async function connectAll(world: World, target: { url: string } | { server: string }) {
  const people = [await world.service.createPerson(), await world.service.createPerson()]
  const connected = people.map(async (person) => ({ person, connectorId: await connect(world, person, target) }))
  return await Promise.all(connected)
}

test('out-of-order responses of one HTTP server never cross between runs or users', async () => {
  // Echoes the request ids, and responds to the later call first.
  const mcp = await startMcpServer({
    'tools/call': async (response, message) => {
      const { a, b } = message.params.arguments
      await delay(((a / 1000 + b) % 5) * 10)
      say(response, message, `The sum is ${a + b}`)
    },
    // Every client gets the same session, as from a server without sessions.
    initialize: (response, message) => {
      const serverInfo = { name: 'stub', version: '1' }
      result(response, message, { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo })
    },
  })
  const world = await startWorld({ inThreads: true, privateHosts: [mcp.host] })
  await expectOwnAnswers(world, await connectAll(world, { url: `http://${mcp.host}/` }))
  await expectSound(world)
  await world.stop()
})

test('responses of a full MCP server with one session per run never cross', async () => {
  const http = await startEverything()
  const world = await startWorld({ inThreads: true, privateHosts: [http.host] })
  await expectOwnAnswers(world, await connectAll(world, { url: http.url }))
  await expectSound(world)
  await world.stop()
  await http.stop()
})
