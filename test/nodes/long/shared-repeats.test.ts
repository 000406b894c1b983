import { expect, test } from 'vitest'
import { soon } from '../../chat/chat-checks.ts'
import { WireCalls } from '../../openai/wire-calls.ts'
import chatAgents, { say } from '../../support/chat-agents.ts'
import type { TestService } from '../../support/test-service.ts'
import { at, startNodes } from '../start-nodes.ts'

const options = { config: chatAgents, limits: { executionsPerMinute: 0 } }
const retry = (count: number) => ({ 'X-Stainless-Retry-Count': String(count) })

async function startTwo() {
  const { nodes, stop } = await startNodes(options, options)
  const [first, second] = nodes as [TestService, TestService]
  const mine = new WireCalls(first, await first.createPerson({ balanceUsd: '1000' }))
  return { mine, second: at(second, mine), stop }
}

test('a retry at another node gets the reply of the first and is paid once', async () => {
  const { mine, second, stop } = await startTwo()
  for (const ask of ['complete', 'respond'] as const) {
    const before = (await mine.charges()).length
    const first = await mine[ask]('Hello', {}, retry(0))
    const again = await second[ask]('Hello', {}, retry(1))
    expect(again.headers.get('errand-turn-id')).toBe(first.headers.get('errand-turn-id'))
    expect(again.body.usage).toEqual(first.body.usage)
    expect(await mine.charges()).toHaveLength(before + 1)
    // The same content without a retry mark is a new request.
    await second[ask]('Hello', {}, retry(0))
    expect(await mine.charges()).toHaveLength(before + 2)
  }
  await mine.expectSound()
  await stop()
})

test('a request and its retry that reach two nodes simultaneously are paid once', async () => {
  const { mine, second, stop } = await startTwo()
  for (let n = 0; n < 10; n++) {
    const message = `Hello ${n}`
    const answers = await Promise.all([
      mine.complete(message, {}, retry(0)),
      second.complete(message, {}, retry(1)),
      second.complete(message, {}, retry(2)),
    ])
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(new Set(answers.map(({ headers }) => headers.get('errand-turn-id'))).size).toBe(1)
  }
  await expect.poll(mine.charges.bind(mine), soon).toHaveLength(10)
  await mine.expectSound()
  await stop()
})

test('a reply retried at another node continues after its first client has left', async () => {
  const { mine, second, stop } = await startTwo()
  const message = say({ do: 'wait', ms: 5000 }, { do: 'text', delta: 'Done' })
  const leaving = new AbortController()
  const url = `${mine.service.url}/v1/chat/completions`
  const headers = { ...retry(0), Authorization: `Bearer ${mine.person.key}`, 'Content-Type': 'application/json' }
  const body = JSON.stringify({ model: 'talk', messages: [{ role: 'user', content: message }] })
  const cut = fetch(url, { method: 'POST', headers, body, signal: leaving.signal }).catch(() => undefined)
  const held = async () => (await mine.service.get('/api/account', mine.person.key)).body.heldUsd
  await expect.poll(held, soon).not.toBe('0.0000')
  leaving.abort()
  await cut
  const again = await second.complete(message, {}, retry(1))
  expect([again.status, again.body.choices[0].message.content]).toEqual([200, 'Done'])
  expect(await mine.charges()).toHaveLength(1)
  await mine.expectSound()
  await stop()
})
