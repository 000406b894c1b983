import { readersMax } from '../../server/chat/events/read-turns.ts'
import { nothingUsed } from '../../server/store/sessions/turn-endings.ts'
import { ChatReader } from '../support/chat-reader.ts'
import type { Checker } from './documented-answers.ts'

const long = 'x'.repeat(201)

/** Checks replies of a new user that are reread and stopped. */
export async function checkChats(checker: Checker): Promise<void> {
  const { service } = checker
  const { key, userId } = await service.createPerson()
  const check = (status: number, request: string, body?: unknown) => checker.check(status, request, { body, key })
  const { sessionId } = (await check(200, 'POST /api/sessions', { agentId: 'gate' })).body
  const at = `/api/sessions/${sessionId}`
  await check(204, `GET ${at}/stream`)
  const chat = { sessionId, message: 'wait', onDisconnect: 'continue' }
  const reader = await ChatReader.open({ url: service.url, key, body: chat })
  await reader.until('tool_result')
  reader.leave()
  const turnId = String(reader.headers['errand-turn-id'])
  const turn = `/api/chat/${turnId}`
  const caller = { userId, credential: { kind: 'operator' } as const }
  const opened = Array.from({ length: readersMax }, () =>
    service.app.services.chats.reads.open({ caller, turnId, after: 0 }),
  )
  const readers = await Promise.all(opened)
  for (const path of [`${turn}/events`, `${at}/stream`]) await check(429, `GET ${path}`)
  for (const one of readers) one?.leave()
  const read = check(200, `GET ${at}/stream`)
  await check(400, `GET ${turn}/events?after=9`)
  await check(200, `POST ${turn}/stop`, {})
  await read
  await check(200, `GET ${turn}/events`)
  await check(204, `GET ${turn}/events?after=4`)
  await check(404, 'GET /api/chat/turn_0/events')
  await check(404, 'GET /api/sessions/ses_0/stream')
  await check(400, `GET /api/sessions/${long}/stream`)
  await check(404, 'POST /api/chat/turn_0/stop', {})
  await check(400, `POST /api/chat/${long}/stop`, {})
  await check(413, `POST ${turn}/stop`, { name: 'x'.repeat(20_000) })
  await checker.check(415, `POST ${turn}/stop`, { body: '{}', headers: { 'Content-Type': 'text/plain' }, key })
  // Simulates a long reply from before a restart.
  const { store } = service.app
  const lost = 'turn_of_before'
  await store.openTurn({ turnId: lost, sessionId, userId, idempotency: null, required: 0, hold: 0 })
  await store.turnEvents.keep([{ turnId: lost, firstSeq: 5, lastSeq: 5, lines: '{}\n' }])
  for (const path of [`/api/chat/${lost}/events`, `${at}/stream`]) await check(410, `GET ${path}`)
  await store.settleTurn({ turnId: lost, outcome: 'failed', cost: 0, breakdown: nothingUsed, exchange: null })
}
