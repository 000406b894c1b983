import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { expectOneEnd, priceOf, Talker, unitsOf } from '../chat/chat-checks.ts'
import { expectSentence } from '../models/model-checks.ts'
import { chargedOnce, moneyOf, refundedOnce, soon, unlimited } from '../runner/task-checks.ts'
import { ModelProvider, reply, type Script } from '../support/model-provider.ts'
import { startService, type Person, type TestService } from '../support/test-service.ts'
import { mark, runAgents, type ToolUse } from './run-agents.ts'

const agentsFile = fileURLToPath(new URL('./run-agents.ts', import.meta.url))

export type World = { provider: ModelProvider; service: TestService; stop: () => Promise<void> }

type WorldOptions = Parameters<typeof startService>[0] & { inThreads?: boolean }

/** Starts a service with agents that use connectors, and a provider whose model makes the requested calls. */
export async function startWorld({ inThreads = false, limits, ...options }: WorldOptions = {}): Promise<World> {
  const provider = await ModelProvider.start()
  provider.play(obedient)
  process.env['TEST_MODEL_URL'] = provider.url
  const service = await startService({
    config: runAgents(provider.url),
    ...(inThreads && { configFile: agentsFile }),
    limits: { ...unlimited, agentThreads: 1, ...limits },
    ...options,
  })
  const stop = async () => {
    await service.stop()
    await provider.stop()
    await expectNoServers()
  }
  return { provider, service, stop }
}

/** Makes all calls named in the prompt in one step, then repeats the tools' results. */
const obedient: Script = (response, request) => {
  const messages: { role: string; content: string }[] = request.body.messages
  const { content, role } = messages.at(-1)!
  if (role === 'tool') {
    const told = messages.filter((message) => message.role === 'tool').map((message) => message.content)
    return reply({ text: [`Told: ${told.join(' | ')}`] })(response, request)
  }
  if (!content.startsWith('[')) return reply({ text: [`You said: ${content}`] })(response, request)
  const uses = JSON.parse(content) as ToolUse[]
  const calls = uses.map(({ args = {}, name }, n) => ({ id: `call-${n}`, name, args: JSON.stringify(args) }))
  return reply({ text: calls.length === 0 ? ['Nothing to do.'] : [], calls })(response, request)
}

type Connect = { name?: string; url?: string; server?: string; auth?: object; allowedTools?: string[] | null }

let connectors = 0

export async function connect({ service }: World, { key }: Person, connector: Connect): Promise<string> {
  const named = { name: `Connector ${++connectors}`, ...connector }
  const { body, status } = await service.post('/api/connectors', named, { key })
  expect(status, JSON.stringify(body)).toBe(200)
  return body.id
}

export async function talkWith(
  { service }: World,
  { agentId, connectorIds, person }: { agentId: string; connectorIds: string[]; person: Person },
): Promise<Talker> {
  const talker = await Talker.create(service, { agentId, person })
  const body = { metadata: { connectorIds } }
  const { status } = await service.request('PATCH', `/api/sessions/${talker.sessionId}`, { key: person.key, body })
  expect(status).toBe(200)
  return talker
}

export type TaskOf = { endpointId: string; params: object; connectorIds: string[] }

export async function createTask({ service }: World, { key }: Person, task: TaskOf): Promise<string> {
  const { body, status } = await service.post('/api/tasks', task, { key })
  expect(status, JSON.stringify(body)).toBe(200)
  return body.taskId
}

export async function endOf({ service }: World, { key }: Person, taskId: string): Promise<any> {
  return (await service.get(`/api/tasks/${taskId}?wait=40`, key)).body
}

/** Runs a task, which must complete and be charged once. Returns its response. */
export async function completeTask(world: World, person: Person, task: TaskOf): Promise<any> {
  const taskId = await createTask(world, person, task)
  const ended = await endOf(world, person, taskId)
  expect(ended, JSON.stringify(ended.error)).toMatchObject({ status: 'completed', costUsd: '0.0100' })
  expect(await moneyOf(world.service, person.key, taskId)).toEqual(chargedOnce)
  return ended.response
}

/** Expects that the task failed with one AGENT_ERROR and that message, and was refunded once. */
export async function expectTaskFailed(
  world: World,
  person: Person,
  { message, taskId }: { message: RegExp; taskId: string },
): Promise<void> {
  const ended = await endOf(world, person, taskId)
  const error = { code: 'AGENT_ERROR', message: expect.stringMatching(message) }
  expect(ended).toMatchObject({ status: 'failed', error })
  expectSentence(ended.error.message)
  expect(await moneyOf(world.service, person.key, taskId)).toEqual(refundedOnce)
}

/**
 * Expects that the task continued after calls without a response, received the reason for each of them, and was charged
 * once.
 */
export async function expectToldOnly(
  world: World,
  person: Person,
  { message, taskId }: { message: RegExp; taskId: string },
): Promise<void> {
  const { error, response, status } = await endOf(world, person, taskId)
  expect(status, JSON.stringify(error)).toBe('completed')
  const told: string[] = response.answers?.map(({ text }: { text: string }) => text) ?? [toldIn(response)]
  const failed = told.filter((text) => /^(Connector "|The connectors )/.test(text))
  expect(failed.length).toBeGreaterThan(0)
  for (const text of failed) expect(text).toMatch(message)
  expect(await moneyOf(world.service, person.key, taskId)).toEqual(chargedOnce)
}

function toldIn(response: { text: string }): string {
  return response.text.replace('Told: ', '')
}

/**
 * Runs a chat, which one of the caller's own connectors must end. Its usage must be charged and the partial reply
 * stored. Returns its events.
 */
export async function expectOwnFailure(talker: Talker, message: RegExp, text: string): Promise<any[]> {
  const events = await talker.chat(text)
  const end = expectOneEnd(events, 'error')
  expect(end).toMatchObject({ error: { code: 'AGENT_ERROR', message: expect.stringMatching(message) } })
  expectSentence(end.error.message)
  await expectPaidFor(talker, end)
  return events
}

export async function expectPaidFor(talker: Talker, { costUsd }: { costUsd: string }): Promise<void> {
  expect(unitsOf(costUsd)).toBeGreaterThan(0)
  const [charge, ...more] = await talker.charges()
  expect(more).toEqual([])
  expect(charge.amountUsd).toBe(`-${costUsd}`)
  expect(priceOf(charge.breakdown)).toBe(unitsOf(costUsd))
  expect(charge.breakdown.toolCalls).toBeGreaterThan(0)
  expect((await talker.messages())[1]).toMatchObject({ role: 'assistant', truncated: true })
}

/** Returns the process ids of running connector servers and their children. */
export function serverPids(): number[] {
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,args='], { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 })
  const found = lines.split('\n').filter((line) => line.includes(` ${mark}`))
  return found.map((line) => Number.parseInt(line, 10))
}

// Kills servers that a failed test has left behind.
process.once('exit', () => {
  for (const pid of serverPids()) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // The server has already exited.
    }
  }
})

export async function expectNoServers(): Promise<void> {
  await expect.poll(serverPids, { timeout: 20_000, interval: 20 }).toEqual([])
}

export async function untilServers(count: number): Promise<number[]> {
  await expect.poll(() => serverPids().length, soon).toBe(count)
  return serverPids()
}

/** Expects that the ledger balances and no server is left. */
export async function expectSound({ service }: World): Promise<void> {
  expect(await service.app.store.verifyLedger()).toMatchObject({ ok: true, differences: [] })
  await expectNoServers()
}
