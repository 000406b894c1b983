import { rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ChatReader } from '../support/chat-reader.ts'
import { newDataDir, type TestService } from '../support/test-service.ts'
import { startProject, writeProject } from './reload-project.ts'
import { chargedOnce, moneyOf, refundedOnce, signalFiles, soon, untilBegun } from './task-checks.ts'

const tell = (service: TestService, key: string) => service.runTask(key, 'desk.tell')
const newSession = async (service: TestService, key: string): Promise<string> =>
  (await service.post('/api/sessions', { agentId: 'desk' }, { key })).body.sessionId
const threadCount = ({ app }: TestService) => app.services.admin.system.agentThreads().length

async function textOf(chat: ChatReader): Promise<string> {
  await chat.end()
  return chat.events.map(({ event }) => event.delta ?? '').join('')
}

test('work in progress ends with the old configuration, and later work uses the new one', async () => {
  const folder = newDataDir()
  const service = await startProject(folder, { version: 'old' })
  const { key } = await service.createPerson()
  const { url } = service
  const [files, chatFiles] = [signalFiles(folder), signalFiles(folder)]
  const { body: held } = await service.createTask(key, 'desk.hold', files)
  const heldChat = await ChatReader.open({
    url,
    key,
    body: { sessionId: await newSession(service, key), message: JSON.stringify(chatFiles) },
  })
  await untilBegun(files)
  await untilBegun(chatFiles)
  const asked = { endpointId: 'desk.tell', params: {} }
  const { body: quote } = await service.post('/api/quotes', { task: asked }, { key })

  writeProject(folder, { version: 'new', priceUsd: '0.0300', endpoints: ['tell'] })
  expect(await service.app.reload()).toEqual({ agents: ['desk'], needsRestart: [] })

  expect(await tell(service, key)).toMatchObject({
    response: { version: 'new', isMainThread: false },
    costUsd: '0.0300',
  })
  const { body: quoted } = await service.post('/api/tasks', { ...asked, quoteId: quote.quoteId }, { key })
  expect(await moneyOf(service, key, quoted.taskId)).toEqual(chargedOnce)
  expect((await service.createTask(key, 'desk.hold', files)).status).toBe(404)
  const chat = await ChatReader.open({
    url,
    key,
    body: { sessionId: await newSession(service, key), message: 'Hello' },
  })
  expect(await textOf(chat)).toBe('new')

  writeFileSync(files.release, '')
  writeFileSync(chatFiles.release, '')
  expect((await service.get(`/api/tasks/${held.taskId}?wait=20`, key)).body).toMatchObject({
    status: 'completed',
    response: { version: 'old' },
  })
  expect(await moneyOf(service, key, held.taskId)).toEqual(chargedOnce)
  expect(await textOf(heldChat)).toBe('old')
  await expect.poll(() => threadCount(service), soon).toBe(2)
  expect((await service.app.store.verifyLedger()).differences).toEqual([])
  await service.stop()
  rmSync(folder, { recursive: true })
})

test('a queued task of a removed agent fails and is refunded, and the agent is gone everywhere', async () => {
  const folder = newDataDir()
  const service = await startProject(folder, { version: 'old' }, { taskConcurrency: 1 })
  const { key } = await service.createPerson()
  const files = signalFiles(folder)
  const { body: held } = await service.createTask(key, 'desk.hold', files)
  await untilBegun(files)
  const { body: queued } = await service.createTask(key, 'desk.tell')
  const sessionId = await newSession(service, key)

  writeFileSync(join(folder, 'errand.config.ts'), 'export default { agents: [] }')
  expect(await service.app.reload()).toEqual({ agents: [], needsRestart: [] })
  expect((await service.get('/api/agents', key)).body.agents).toEqual([])
  expect((await service.post('/api/chat', { sessionId, message: 'Hello' }, { key })).status).toBe(404)
  writeFileSync(files.release, '')
  const wait = async (taskId: string) => (await service.get(`/api/tasks/${taskId}?wait=20`, key)).body
  expect(await wait(held.taskId)).toMatchObject({ status: 'completed', response: { version: 'old' } })
  expect(await wait(queued.taskId)).toMatchObject({ status: 'failed', error: { code: 'AGENT_UNAVAILABLE' } })
  expect(await moneyOf(service, key, queued.taskId)).toEqual(refundedOnce)
  await service.stop()
  rmSync(folder, { recursive: true })
})

test('a broken configuration changes nothing, and the error says why', async () => {
  const folder = newDataDir()
  const service = await startProject(folder, { version: 'old' })
  const { key } = await service.createPerson()
  const agentFile = join(folder, 'agents/desk.ts')
  const broken: [() => void, RegExp][] = [
    [() => truncateSync(agentFile, 300), /Could not load .*errand\.config\.ts/],
    [() => rmSync(agentFile), /Cannot find module/],
    [() => writeProject(folder, { version: 'new', priceUsd: 'dear' }), /agents\[0\]\.endpoints\.tell\.priceUsd/],
    [() => writeProject(folder, { version: 'new', rest: 'limits: { agentThreads: 0 }' }), /limits\.agentThreads/],
    [() => writeProject(folder, { version: 'new', rest: "defaultPlan: 'none'" }), /defaultPlan/],
    [
      () => writeProject(folder, { version: 'new', atLoad: "if (!isMainThread) throw new Error('not in a thread')" }),
      /not in a thread/,
    ],
  ]
  for (const [breakIt, why] of broken) {
    writeProject(folder, { version: 'new' })
    breakIt()
    await expect(service.app.reload()).rejects.toThrow(why)
    expect(await tell(service, key)).toMatchObject({ response: { version: 'old' }, costUsd: '0.0100' })
    expect(threadCount(service)).toBe(2)
  }
  writeProject(folder, { version: 'new' })
  await service.app.reload()
  expect(await tell(service, key)).toMatchObject({ response: { version: 'new' } })
  await service.stop()
  rmSync(folder, { recursive: true })
})

test('plans are applied without a restart, and parts that need one are named', async () => {
  const folder = newDataDir()
  const service = await startProject(folder, { version: 'old', rest: 'plans: { free: { executionsPerMinute: 1 } }' })
  const { key } = await service.createPerson()
  const plans = "plans: { free: { executionsPerMinute: 1 } }, defaultPlan: 'free'"
  const login = "login: { providers: [{ id: 'a', name: 'A', issuer: 'https://a.example.com', clientId: 'c' }] }"
  writeProject(folder, { version: 'new', rest: `${plans}, limits: { drainSeconds: 7 }, ${login}` })
  expect((await service.app.reload()).needsRestart).toEqual(['limits', 'login'])
  expect((await service.createTask(key, 'desk.tell')).status).toBe(200)
  expect((await service.createTask(key, 'desk.tell')).status).toBe(429)
  await service.stop()
  rmSync(folder, { recursive: true })
})

test('reloads under load reject no request, lose no run, and charge each once', async () => {
  const folder = newDataDir()
  const service = await startProject(folder, { version: '0' })
  const { key } = await service.createPerson({ balanceUsd: '100.0000' })
  let isOver = false
  const ended: any[] = []
  const replies: string[] = []
  const tasks = async () => {
    while (!isOver) {
      ended.push(await service.runTask(key, 'desk.tell'))
    }
  }
  const chats = async () => {
    const sessionId = await newSession(service, key)
    while (!isOver) {
      replies.push(
        await textOf(await ChatReader.open({ url: service.url, key, body: { sessionId, message: 'Hello' } })),
      )
    }
  }
  const load = Promise.all([tasks(), tasks(), tasks(), tasks(), chats(), chats()])
  for (const version of ['1', '2', '3']) {
    writeProject(folder, { version })
    await service.app.reload()
    const { length } = replies
    await expect.poll(() => replies.slice(length).includes(version), soon).toBe(true)
  }
  isOver = true
  await load
  for (const task of ended) expect(task).toMatchObject({ status: 'completed', response: { isMainThread: false } })
  expect([...new Set(ended.map(({ response }) => response.version))].toSorted()).toEqual(['0', '1', '2', '3'])
  expect([...new Set(replies)].toSorted()).toEqual(['0', '1', '2', '3'])
  const { body: account } = await service.get('/api/account', key)
  const spent = 100 - 0.01 * ended.length
  expect(Number(account.balanceUsd)).toBeLessThan(spent)
  const report = await service.app.store.verifyLedger()
  expect([report.transactions, report.differences]).toEqual([1 + ended.length + replies.length, []])
  await service.stop()
  rmSync(folder, { recursive: true })
})
