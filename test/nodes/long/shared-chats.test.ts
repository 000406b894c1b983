import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { expectOneEnd, soon, Talker, textOf } from '../../chat/chat-checks.ts'
import { temporaryFolder } from '../../support/resources.ts'
import { engine } from '../../support/test-engine.ts'
import { startProcess } from '../../support/test-process.ts'
import type { TestService } from '../../support/test-service.ts'
import { at, startNodes } from '../start-nodes.ts'

const noRate = { limits: { executionsPerMinute: 0 } }

async function startTwo(options: Parameters<typeof startNodes>[0] = noRate) {
  const { nodes, ...more } = await startNodes(options, options)
  const [first, second] = nodes as [TestService, TestService]
  return { first, second, ...more }
}

const newFile = () => join(temporaryFolder('nodes'), 'release')

/** Runs `before` before each call of this method of the node's store. */
function beforeEach(
  { app: { store } }: TestService,
  name: 'openTurn' | 'growHold',
  before: () => Promise<void> | void,
): void {
  const own = store[name].bind(store) as (input: unknown) => Promise<unknown>
  const counted = async (input: unknown) => {
    await before()
    return await own(input)
  }
  Object.assign(store, { [name]: counted })
}

test('one of twelve concurrent messages to a session across two nodes is answered', async () => {
  const { first, second, stop } = await startTwo()
  const talker = await Talker.create(first)
  const there = at(second, talker)
  const file = newFile()
  const readers = await Promise.all(
    Array.from({ length: 12 }, (_, n) =>
      (n % 2 ? there : talker).do({ do: 'await-file', file }, { do: 'text', delta: 'x' }),
    ),
  )
  expect(readers.map(({ status }) => status).toSorted()).toEqual([200, ...Array(11).fill(409)])
  writeFileSync(file, '')
  await Promise.all(readers.map((reader) => reader.all()))
  expect(await there.session()).toMatchObject({ messageCount: 2 })
  expect(await there.charges()).toHaveLength(1)
  expectOneEnd(await there.chat('And again'), 'done')
  await stop()
})

test("DELETE at one node stops another node's chat, charges its usage and deletes the session", async () => {
  const { first, second, stop } = await startTwo()
  const talker = await Talker.create(first)
  const reader = await talker.do({ do: 'text', delta: 'Some text' }, { do: 'await-abort' })
  await reader.until('assistant_delta')
  const answer = await second.request('DELETE', `/api/sessions/${talker.sessionId}`, { key: talker.key })
  expect(answer.status).toBe(200)
  const { costUsd, error } = expectOneEnd(await reader.all(), 'error')
  expect(error).toEqual({
    code: 'AGENT_INTERRUPTED',
    message: 'The session was deleted during the reply. Create a new session.',
  })
  expect(await talker.charges()).toMatchObject([{ type: 'chat_charge', amountUsd: `-${costUsd}` }])
  expect(Number(costUsd)).toBeGreaterThan(0)
  for (const node of [first, second]) {
    expect((await node.get(`/api/sessions/${talker.sessionId}`, talker.key)).status).toBe(404)
  }
  expect((await talker.account()).heldUsd).toBe('0.0000')
  await stop()
})

test('completing a session at one node lets a chat on another finish, and rejects further messages', async () => {
  const { first, second, stop } = await startTwo()
  const talker = await Talker.create(first)
  const file = newFile()
  const reader = await talker.do({ do: 'text', delta: 'x' }, { do: 'await-file', file })
  await reader.until('assistant_delta')
  const body = { status: 'completed' }
  const path = `/api/sessions/${talker.sessionId}`
  expect((await second.request('PATCH', path, { key: talker.key, body })).status).toBe(200)
  writeFileSync(file, '')
  expectOneEnd(await reader.all(), 'done')
  expect(await talker.session()).toMatchObject({ status: 'completed', messageCount: 2 })
  for (const node of [first, second]) {
    expect((await (await at(node, talker).open('Hello')).end()).error.code).toBe('SESSION_COMPLETED')
  }
  await stop()
})

test('an exchange that ends on another node during admission is part of the next history', async () => {
  const { first, second, stop } = await startTwo()
  const talker = await Talker.create(first)
  const file = newFile()
  const earlier = await talker.do({ do: 'text', delta: 'The reply before' }, { do: 'await-file', file })
  await earlier.until('assistant_delta')
  // The next turn has read the history by the time it is opened.
  beforeEach(second, 'openTurn', async () => {
    writeFileSync(file, '')
    await earlier.all()
  })
  const told = textOf(await (await at(second, talker).do({ do: 'tell', what: 'history' })).all())
  expect(JSON.parse(told)).toMatchObject([{ role: 'user' }, { role: 'assistant', content: 'The reply before' }])
  await stop()
})

test('a turn closed by another node ends as AGENT_INTERRUPTED, is free and is not stored', async () => {
  const { databaseOf, first, second, stop } = await startTwo({ limits: { executionsPerMinute: 0, leaseSeconds: 4 } })
  const file = newFile()
  const [finishing, endless] = await Promise.all([Talker.create(first), Talker.create(first)])
  const readers = await Promise.all([
    finishing.do({ do: 'text', delta: 'x' }, { do: 'await-file', file }),
    endless.do({ do: 'text', delta: 'x' }, { do: 'await-abort' }),
  ])
  await Promise.all(readers.map((reader) => reader.until('assistant_delta')))
  const raw = await engine().openRaw(databaseOf)
  const closed = async () => {
    // The responding node may renew its leases just then.
    await raw.query('UPDATE turns SET lease_until = 0 WHERE settled_at IS NULL')
    // Closes abandoned turns of both nodes, on whichever node it runs.
    await second.app.store.closeAbandonedTurns()
    return await raw.query('SELECT id FROM turns WHERE settled_at IS NULL')
  }
  await expect.poll(closed, soon).toEqual([])
  await raw.close()
  await Promise.all([finishing.settled(), endless.settled()])
  writeFileSync(file, '')
  for (const [n, talker] of [finishing, endless].entries()) {
    const { costUsd, error } = expectOneEnd(await readers[n]!.all(), 'error')
    expect([error.code, costUsd]).toEqual(['AGENT_INTERRUPTED', '0.0000'])
    expect(await talker.session()).toMatchObject({ messageCount: 0 })
    expect(await talker.charges()).toEqual([])
    expectOneEnd(await at(second, talker).chat('Hello'), 'done')
  }
  expect((await first.app.store.verifyLedger()).differences).toEqual([])
  await stop()
})

test('a session of a node killed mid-chat continues on another node, without a charge', async () => {
  const leases = { leaseSeconds: 3 }
  const { databaseOf, nodes, stop } = await startNodes({ limits: { executionsPerMinute: 0, ...leases } })
  const here = nodes[0]!
  const env = { ...(await engine().environment(databaseOf)), ERRAND_LEASE_SECONDS: String(leases.leaseSeconds) }
  const gone = await startProcess({ dataDir: here.dataDir, env })
  const talker = await Talker.create(here)
  const there = at({ url: gone.url } as TestService, talker)
  const reader = await there.do({ do: 'text', delta: 'x' }, { do: 'await-abort' })
  await reader.until('assistant_delta')
  expect((await talker.open('Hello')).status).toBe(409)
  await gone.end('SIGKILL')
  expect(await reader.wasCutOff()).toBe(true)
  await talker.settled()
  expect(await talker.session()).toMatchObject({ messageCount: 0 })
  expect(await talker.charges()).toEqual([])
  expectOneEnd(await talker.chat('Hello'), 'done')
  await stop()
})

test('while another node holds the balance, a chat gets 403 with Retry-After', async () => {
  const { first, second, stop } = await startTwo()
  const talker = await Talker.create(first, { balanceUsd: '0.3000' })
  const next = at(second, await talker.another())
  const file = newFile()
  const reader = await talker.do({ do: 'text', delta: 'x' }, { do: 'await-file', file })
  await reader.until('assistant_delta')
  const refused = await next.open('Hello')
  expect([refused.status, refused.headers['retry-after']]).toEqual([403, '5'])
  writeFileSync(file, '')
  expectOneEnd(await reader.all(), 'done')
  expectOneEnd(await next.chat('Hello'), 'done')
  await stop()
})
