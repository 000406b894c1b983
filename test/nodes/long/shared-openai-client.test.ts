import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import chatAgents, { say } from '../../support/chat-agents.ts'
import { installTools } from '../../reach/install-tools.ts'
import { soon } from '../../chat/chat-checks.ts'
import { engine } from '../../support/test-engine.ts'
import { startProcess } from '../../support/test-process.ts'
import type { Person, TestService } from '../../support/test-service.ts'
import { startNodes } from '../start-nodes.ts'

// OpenAI's own client, whose retries reach another node than the original request.

const chatFile = fileURLToPath(new URL('../../support/chat-agents.ts', import.meta.url))
const options = { config: chatAgents, limits: { executionsPerMinute: 0, leaseSeconds: 3 } }
const ask = (content: string) => ({ model: 'talk', messages: [{ role: 'user', content }] })

async function openClient(person: Person, { later, url }: { url: string; later: string }) {
  const OpenAI = createRequire(join(await installTools('openai'), 'here.js'))('openai')
  const sent: string[] = []
  const send = (input: string, init: RequestInit) => {
    const count = new Headers(init.headers).get('x-stainless-retry-count')!
    sent.push(count)
    return fetch(count === '0' ? input : input.replace(url, later), init)
  }
  const settings = { apiKey: person.key, baseURL: `${url}/v1`, maxRetries: 6, fetch: send }
  return { client: new OpenAI(settings), sent, InternalServerError: OpenAI.InternalServerError }
}

async function moneyOf(node: TestService, { key }: Person) {
  await expect.poll(async () => (await node.get('/api/account', key)).body.heldUsd, soon).toBe('0.0000')
  expect((await node.app.store.verifyLedger()).differences).toEqual([])
  return (await node.get('/api/transactions?type=chat_charge', key)).body.total
}

test('retries at another node get the first reply, even if it takes longer than their timeout', async () => {
  const { nodes, stop } = await startNodes(options, options)
  const [first, second] = nodes as [TestService, TestService]
  const person = await first.createPerson()
  const { client, sent } = await openClient(person, { url: first.url, later: second.url })
  const message = say({ do: 'wait', ms: 6000 }, { do: 'text', delta: 'At last' })
  const { choices } = await client.chat.completions.create(ask(message), { timeout: 1500 })
  expect(choices[0].message.content).toBe('At last')
  expect(sent.length).toBeGreaterThan(2)
  expect(await moneyOf(second, person)).toBe(1)
  await stop()
})

test('a retry of a request to a killed node ends as interrupted, without a charge', async () => {
  const { databaseOf, nodes, stop } = await startNodes(options)
  const here = nodes[0]!
  const env = { ...(await engine().environment(databaseOf)), ERRAND_LEASE_SECONDS: '3' }
  const gone = await startProcess({ dataDir: here.dataDir, config: chatFile, env })
  const person = await here.createPerson()
  const { client, InternalServerError, sent } = await openClient(person, { url: gone.url, later: here.url })
  const asked = client.chat.completions.create(ask(say({ do: 'await-abort' }))).catch((error: unknown) => error)
  await expect.poll(async () => (await here.get('/api/account', person.key)).body.heldUsd, soon).not.toBe('0.0000')
  await gone.end('SIGKILL')
  const error = await asked
  expect(error).toBeInstanceOf(InternalServerError)
  expect(error.code).toBe('agent_interrupted')
  expect(sent).toEqual(['0', '1'])
  expect(await moneyOf(here, person)).toBe(0)
  await stop()
})
