import { expect, test } from 'vitest'
import { FakeClock } from '../support/fake-clock.ts'
import { say } from '../support/chat-agents.ts'
import { ChatReader } from '../support/chat-reader.ts'
import { expectOneEnd, startTalk, Talker, textOf } from './chat-checks.ts'

const tellHistory = say({ do: 'tell', what: 'history' })
const saidIn = (events: any[]) => JSON.parse(textOf(events)).map(({ content }: any) => content)
const openReplacing = ({ key, service, sessionId }: Talker, message: string, replaces: unknown) =>
  ChatReader.open({ url: service.url, key, body: { sessionId, message, replaces } })

async function lastTurn(talker: Talker): Promise<string> {
  return (await talker.messages()).at(-1).turnId
}

async function replace(talker: Talker, message: string, replaces: string): Promise<any[]> {
  const reader = await openReplacing(talker, message, replaces)
  expect(reader.status, reader.text).toBe(200)
  return await reader.all()
}

test('a replaced exchange leaves the history and stays in the messages and charges', async () => {
  const service = await startTalk()
  const talker = await Talker.create(service)
  await talker.chat('One')
  await talker.chat('Two')
  const first = await lastTurn(talker)
  expectOneEnd(await replace(talker, 'Second', first), 'done')
  const second = await lastTurn(talker)
  expect(saidIn(await replace(talker, tellHistory, second))).toEqual(['One', 'You said: One'])
  const third = await lastTurn(talker)
  expect(saidIn(await talker.chat(tellHistory)).slice(0, 3)).toEqual(['One', 'You said: One', tellHistory])
  const messages = await talker.messages()
  expect(messages.filter(({ replaces }) => replaces)).toMatchObject([
    { role: 'user', content: 'Second', turnId: second, replaces: first },
    { role: 'user', content: tellHistory, turnId: third, replaces: second },
  ])
  expect(await talker.session()).toMatchObject({ messageCount: 10, title: 'One' })
  const charges = await talker.charges()
  expect(new Set(charges.map(({ turnId }) => turnId))).toEqual(new Set(messages.map(({ turnId }) => turnId)))
  expect(await service.app.store.verifyLedger()).toMatchObject({ ok: true, differences: [] })
  await service.stop()
})

test('a failed reply replaces nothing, so the exchange can be replaced again', async () => {
  const service = await startTalk()
  const talker = await Talker.create(service)
  await talker.chat('One')
  const turnId = await lastTurn(talker)
  expectOneEnd(await replace(talker, say({ do: 'throw', message: 'No.' }), turnId), 'error')
  expect(await lastTurn(talker)).toBe(turnId)
  expect(saidIn(await replace(talker, tellHistory, turnId))).toEqual([])
  await service.stop()
})

test('rejects a turn that is not the last of its session, and writes nothing', async () => {
  const service = await startTalk()
  const talker = await Talker.create(service)
  const other = await talker.another()
  await talker.chat('One')
  const first = await lastTurn(talker)
  await talker.chat('Two')
  await other.chat('Elsewhere')
  const before = await talker.state()
  for (const turnId of [first, await lastTurn(other), 'turn_unknown', talker.sessionId]) {
    const refused = await openReplacing(talker, 'Again', turnId)
    await refused.all()
    expect(refused.status, turnId).toBe(409)
    expect(JSON.parse(refused.text)).toMatchObject({ code: 'CONFLICT', message: expect.stringContaining('replaces') })
  }
  for (const bad of ['', 5, null, 'x'.repeat(201)]) {
    const refused = await openReplacing(talker, 'Again', bad)
    await refused.all()
    expect(refused.status, String(bad)).toBe(400)
  }
  expect(await talker.state()).toEqual(before)
  const fresh = await talker.another()
  expect((await openReplacing(fresh, 'Again', first)).status).toBe(409)
  await service.stop()
})

test('rejects a turn whose reply is in progress', async () => {
  const service = await startTalk()
  const talker = await Talker.create(service)
  await talker.chat('One')
  const running = await talker.do({ do: 'text', delta: 'Well' }, { do: 'await-abort' })
  await running.until('assistant_delta')
  const listed = (await service.get('/api/sessions', talker.key)).body.sessions
  expect(listed).toMatchObject([{ id: talker.sessionId, isReplying: true, title: 'One' }])
  const refused = await openReplacing(talker, 'Again', running.headers['errand-turn-id'])
  await refused.all()
  expect(JSON.parse(refused.text)).toMatchObject({ statusCode: 409, code: 'SESSION_BUSY' })
  running.leave()
  await talker.settled()
  await service.stop()
})

test('a session that continues an expired one begins with its title and history, as long as it exists', async () => {
  const clock = new FakeClock()
  const service = await startTalk({ clock })
  const talker = await Talker.create(service)
  const { key } = talker
  const create = async (fields: object) => await service.post('/api/sessions', { agentId: 'talk', ...fields }, { key })
  await talker.chat('One')
  await talker.chat('Two')
  await replace(talker, 'Three', await lastTurn(talker))
  const continues = talker.sessionId
  expect(await create({ continues })).toMatchObject({ status: 400, body: { details: [{ path: 'continues' }] } })
  clock.advance(25 * 3_600_000)
  expect(await create({ continues, agentId: 'forgetful' })).toMatchObject({ status: 400 })
  expect(await create({ continues: 'ses_unknown' })).toMatchObject({ status: 404 })
  const stranger = await Talker.create(service)
  expect(await service.post('/api/sessions', { agentId: 'talk', continues }, { key: stranger.key })).toMatchObject({
    status: 404,
  })
  const next = async (earlier: string) => {
    const { body, status } = await create({ continues: earlier })
    expect(status).toBe(200)
    return body.sessionId as string
  }
  const historyOf = async (sessionId: string) => {
    const reader = await ChatReader.open({ url: service.url, key, body: { sessionId, message: tellHistory } })
    return saidIn(await reader.all())
  }
  const second = await next(continues)
  const own = await service.get(`/api/sessions/${second}`, key)
  expect(own.body).toMatchObject({ continues, title: 'One', messageCount: 0, spentUsd: '0.0000' })
  const earlier = ['One', 'You said: One', 'Three', 'You said: Three']
  expect(await historyOf(second)).toEqual(earlier)
  await service.request('PATCH', `/api/sessions/${second}`, { key, body: { status: 'completed' } })
  const third = await next(second)
  expect((await historyOf(third)).slice(0, 5)).toEqual([...earlier, tellHistory])
  await service.request('DELETE', `/api/sessions/${continues}`, { key })
  expect((await historyOf(third)).filter((text: string) => earlier.includes(text))).toEqual([])
  await service.stop()
})
