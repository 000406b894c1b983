import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { besideServer, openAccount, send } from '../../runner/process-client.ts'
import { say } from '../../support/chat-agents.ts'
import { ChatReader } from '../../support/chat-reader.ts'
import { runErrand, startProcess } from '../../support/test-process.ts'
import { newDataDir } from '../../support/test-service.ts'
import { expectOneEnd, expectSound, filesIn, soon, startTalk, Talker, textOf } from '../chat-checks.ts'

const config = fileURLToPath(new URL('../../support/chat-agents.ts', import.meta.url))

test('after kill -9 mid-chat, turns are closed without a charge and sessions stay usable', async () => {
  const dataDir = newDataDir()
  const { key, userId } = await openAccount(dataDir)
  const server = await startProcess({ dataDir, config })
  const open = async (message: string, { sessionId, url }: { sessionId: string; url: string }) =>
    await ChatReader.open({ url, key, body: { sessionId, message } })
  const ids: string[] = []
  for (let n = 0; n < 3; n++) ids.push((await send(server, key, '/api/sessions', { agentId: 'talk' })).sessionId)
  const first = await open('Before', { sessionId: ids[0]!, url: server.url })
  const { costUsd } = expectOneEnd(await first.all(), 'done')
  const message = say({ do: 'text', delta: 'Some text. ', times: 100 }, { do: 'wait', ms: 600_000 })
  const readers = await Promise.all(ids.map((sessionId) => open(message, { sessionId, url: server.url })))
  for (const reader of readers) await reader.until('assistant_delta')
  expect(Number((await send(server, key, '/api/account')).heldUsd)).toBeGreaterThan(0.9)
  expect(await server.end('SIGKILL')).toBe(null)
  for (const reader of readers) {
    expect(await reader.wasCutOff()).toBe(true)
    expect((await reader.all()).map(({ type }) => type)).not.toContain('error')
  }

  const again = await startProcess({ dataDir, config })
  // If nodes share a database, a dead node keeps its turns until its lease expires.
  await expect.poll(async () => (await send(again, key, '/api/account')).heldUsd, soon).toBe('0.0000')
  const { balanceUsd, heldUsd } = await send(again, key, '/api/account')
  expect([Number(balanceUsd).toFixed(4), heldUsd]).toEqual([(1000 - Number(costUsd)).toFixed(4), '0.0000'])
  for (const [n, sessionId] of ids.entries()) {
    expect(await send(again, key, `/api/sessions/${sessionId}`)).toMatchObject({ messageCount: n === 0 ? 2 : 0 })
    const reader = await open('Still there?', { sessionId, url: again.url })
    expect(textOf(await reader.all())).toBe('You said: Still there?')
  }
  expect(await again.end('SIGTERM')).toBe(0)
  const report = JSON.parse(await runErrand(['ledger', 'verify', '--data', dataDir, '--json']))
  expect(report).toMatchObject({ ok: true, differences: [] })
  await besideServer(dataDir, async (store) => {
    const { total } = await store.listTransactions({ userId, type: 'chat_charge', limit: 10, offset: 0 })
    expect(total).toBe(4)
  })
  rmSync(dataDir, { recursive: true })
})

test('a shutdown lets chats finish within the drain time and rejects new chats with 503', async () => {
  const service = await startTalk({ isInline: false })
  const talker = await Talker.create(service)
  const other = await talker.another()
  const release = filesIn(service)('release')
  const reader = await talker.do(
    { do: 'text', delta: 'Begun, ' },
    { do: 'await-file', file: release },
    { do: 'text', delta: 'ended.' },
  )
  await reader.until('assistant_delta')
  const stopped = service.stop()
  const refused = await other.open('Hello')
  await refused.all()
  expect([refused.status, refused.headers['content-type']]).toEqual([503, 'application/json; charset=utf-8'])
  expect(refused.headers['retry-after']).toMatch(/^[1-9]\d*$/)
  writeFileSync(release, '')
  const events = await reader.all()
  expect(textOf(events)).toBe('Begun, ended.')
  expectOneEnd(events, 'done')
  await stopped
})

test('a shutdown without drain time interrupts a chat for free; its session continues after restart', async () => {
  const dataDir = newDataDir()
  const service = await startTalk({ isInline: false, dataDir, limits: { drainSeconds: 0 } })
  const talker = await Talker.create(service)
  const aborted = join(dataDir, 'aborted')
  const reader = await talker.do(
    { do: 'note-abort', file: aborted },
    { do: 'text', delta: 'Begun' },
    { do: 'wait', ms: 600_000 },
  )
  await reader.until('assistant_delta')
  await service.stop()
  const end = expectOneEnd(await reader.all(), 'error')
  expect(end).toMatchObject({ error: { code: 'AGENT_INTERRUPTED' }, costUsd: '0.0000' })
  expect(existsSync(aborted)).toBe(true)

  const again = await startTalk({ isInline: false, dataDir })
  const account = (await again.get('/api/account', talker.key)).body
  expect(account).toMatchObject({ balanceUsd: '10.0000', heldUsd: '0.0000' })
  const after = await ChatReader.open({
    url: again.url,
    key: talker.key,
    body: { sessionId: talker.sessionId, message: say({ do: 'tell', what: 'history' }) },
  })
  expect(textOf(await after.all())).toBe('[]')
  expect(await again.app.store.verifyLedger()).toMatchObject({ ok: true })
  await again.stop()
  rmSync(dataDir, { recursive: true })
})

test('a chat being admitted at shutdown is rejected or interrupted, and does not delay it', async () => {
  const service = await startTalk({ isInline: false, limits: { drainSeconds: 0 } })
  const talker = await Talker.create(service, { balanceUsd: '1000' })
  const talkers = [talker, ...(await Promise.all(Array.from({ length: 40 }, () => talker.another())))]
  const endless = say({ do: 'text', delta: 'x' }, { do: 'wait', ms: 600_000 })
  const opened = talkers.map((one) => one.open(endless).catch(() => undefined))
  await opened[0]
  let isStopped = false
  const stopped = service.stop().then(() => (isStopped = true))
  await expect.poll(() => isStopped, soon).toBe(true)
  await stopped
  for (const reader of await Promise.all(opened)) {
    if (reader?.status === 200) expect((await reader.end()).error.code).toBe('AGENT_INTERRUPTED')
  }
})

test("ending a thread blocked by one chat interrupts the thread's other chats; all sessions stay usable", async () => {
  const service = await startTalk({ isInline: false, limits: { agentThreads: 1, turnTimeoutSeconds: 6 } })
  const [talker, beside] = [await Talker.create(service), await Talker.create(service)]
  const before = await talker.state()
  const besides = await beside.do({ do: 'text', delta: 'x' }, { do: 'wait', ms: 600_000 })
  await besides.until('assistant_delta')
  const blocked = await talker.do({ do: 'block', ms: 600_000 })
  // The thread is terminated at the first timeout of either chat, which may interrupt the other one.
  const codes = [blocked, besides].map(async (reader) => expectOneEnd(await reader.all(), 'error').error.code)
  const [own, other] = await Promise.all(codes)
  expect([own, other]).toContain('AGENT_TIMEOUT')
  for (const code of [own, other]) expect(['AGENT_INTERRUPTED', 'AGENT_TIMEOUT']).toContain(code)
  expect(await talker.state()).toEqual(before)
  await expectSound(talker)
  await expectSound(beside)
  await service.stop()
})
