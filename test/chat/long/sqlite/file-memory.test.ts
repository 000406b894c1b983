import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, expect, test, vi } from 'vitest'
import { defineConfig, type ChatPart, type ChatRun } from '../../../../server/agents/config/define-config.ts'
import { FilePayloadStore } from '../../../../server/payloads/file-payload-store.ts'
import hangingAgents from '../../../support/hanging-agents.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { filePartOf, pdfOf, png } from '../../../support/sample-files.ts'
import type { ChatReader } from '../../../support/chat-reader.ts'
import { startService } from '../../../support/test-service.ts'
import { expectOneEnd, soon, Talker, textOf, unitsOf } from '../../chat-checks.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

afterEach(() => {
  vi.restoreAllMocks()
})

const fileBytes = 5_242_880
const filesOfMessage = 4
/** Memory bound for one user's files. */
const userBytesMax = 134_217_728

const pricing = { inputPer1kUsd: '0.001', outputPer1kUsd: '0.001' }
const chat = {
  accepts: ['text/*'],
  contextTokens: 10_000_000,
  pricing,
  async *reply({ parts }: ChatRun): AsyncGenerator<ChatPart> {
    const bytes = parts?.map((part) => (part.type === 'file' ? part.data?.length : part.text))
    yield { type: 'text', delta: JSON.stringify(bytes) }
  },
}
const agent = { kind: 'code', id: 'reads', name: 'Reads', chat } as const
const config = defineConfig({ agents: [agent] })

const large = () => filePartOf('a'.repeat(fileBytes), { mediaType: 'text/plain' })

/** Stores a file of maximum size and returns its reference. */
async function storedFile(talker: Talker): Promise<{ type: 'file'; payloadId: string }> {
  const events = await talker.chat([large()])
  expectOneEnd(events, 'done')
  expect(textOf(events)).toBe(`[${fileBytes}]`)
  const [{ parts }] = await talker.messages()
  return { type: 'file', payloadId: parts[0].payloadId }
}

/** Blocks all file reads until `go`, and counts their bytes. */
function heldReads() {
  const { promise, resolve: go } = Promise.withResolvers<void>()
  let bytes = 0
  const { readBytes } = FilePayloadStore.prototype
  vi.spyOn(FilePayloadStore.prototype, 'readBytes').mockImplementation(async function (this: FilePayloadStore, id, of) {
    bytes += of?.bytes ?? 0
    await promise
    return await readBytes.call(this, id, of)
  })
  return { bytes: () => bytes, go }
}

test('accepts a file of the maximum size, and rejects malformed base64 of that size', async () => {
  const service = await startService({ config, limits: { executionsPerMinute: 0 } })
  const talker = await Talker.create(service, { agentId: 'reads', balanceUsd: '1000.0000' })
  await storedFile(talker)
  const { data, ...part } = large()
  for (const bad of [`${data.slice(0, -4)}a===`, `${data.slice(0, -5)}\n${data.slice(-4)}`, data.slice(0, -1)]) {
    const reader = await talker.open([{ ...part, data: bad }])
    await reader.end().catch(() => {})
    expect([reader.status, JSON.parse(reader.text).details]).toEqual([
      400,
      [{ path: 'message[0].data', message: 'Must be base64, with padding and without line breaks' }],
    ])
  }
  await service.stop()
})

test('reads no files of a message that is rejected because of balance or rate limit', async () => {
  const service = await startService({ config, limits: { executionsPerMinute: 2 } })
  const talker = await Talker.create(service, { agentId: 'reads', balanceUsd: '1000.0000' })
  const file = await storedFile(talker)
  const refused = async (of: Talker): Promise<string> => {
    const reader = await of.open(Array.from({ length: filesOfMessage }, () => file))
    return (await reader.end()).code
  }
  const read = vi.spyOn(FilePayloadStore.prototype, 'readBytes')
  const add = (amount: number) =>
    service.app.store.credit({ userId: talker.person.userId, amount, description: 'Test', idempotencyKey: null })
  const balance = unitsOf((await talker.account()).balanceUsd)
  await add(-balance)
  expect(await refused(talker)).toBe('INSUFFICIENT_BALANCE')
  await add(balance)
  const other = await talker.another('reads')
  await other.chat('The last of this minute')
  expect(await refused(talker)).toBe('RATE_LIMIT_EXCEEDED')
  expect(read).not.toHaveBeenCalled()
  expect(await service.app.store.verifyLedger()).toMatchObject({ ok: true })
  await service.stop()
})

test('files in many chats of one user take bounded memory and leave room for other users', async () => {
  const service = await startService({ config, limits: { executionsPerMinute: 0 } })
  const talker = await Talker.create(service, { agentId: 'reads', balanceUsd: '1000.0000' })
  const other = await Talker.create(service, { agentId: 'reads', balanceUsd: '1000.0000' })
  const [file, ofOther] = [await storedFile(talker), await storedFile(other)]
  const send = async (of: Talker, part: object, count = filesOfMessage) => {
    const message = Array.from({ length: count }, () => part)
    const { sessionId } = await of.another('reads')
    const { status } = await fetch(`${service.url}/api/chat`, {
      method: 'POST',
      headers: { authorization: `Bearer ${of.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ sessionId, message }),
    })
    return status
  }
  const reads = heldReads()
  const many = Array.from({ length: 40 }, () => send(talker, file))
  await expect.poll(reads.bytes, soon).toBe(25 * fileBytes)
  expect(reads.bytes()).toBeLessThanOrEqual(userBytesMax)
  const beside = send(other, ofOther, 1)
  await expect.poll(reads.bytes, soon).toBe(26 * fileBytes)
  reads.go()
  expect(await beside).toBe(200)
  const statuses = new Set(await Promise.all(many))
  expect(statuses.has(503)).toBe(true)
  expect([...statuses].filter((status) => status !== 200 && status !== 503)).toEqual([])
  vi.restoreAllMocks()
  // All of the memory is free again.
  await expect.poll(() => send(talker, file), soon).toBe(200)
  expect(await service.app.store.verifyLedger()).toMatchObject({ ok: true })
  await service.stop()
})

test('a quote for a stored file does not open it, and equals the cost of sending it', async () => {
  const any = { ...chat, accepts: ['*/*'] }
  const bounded = { ...agent, id: 'bounds', chat: { ...any, imageTokensMax: 5000, documentTokensMax: 3000 } }
  const service = await startService({
    config: defineConfig({ agents: [{ ...agent, chat: any }, bounded] }),
    limits: { executionsPerMinute: 0 },
  })
  const talker = await Talker.create(service, { agentId: 'reads', balanceUsd: '1000.0000' })
  const sent = [
    filePartOf('a'.repeat(100_000), { mediaType: 'text/plain' }),
    filePartOf(png(3000, 2000)),
    filePartOf(pdfOf(7), { mediaType: 'application/pdf' }),
    filePartOf(Buffer.alloc(20_000, 1), { mediaType: 'application/octet-stream' }),
  ]
  expectOneEnd(await talker.chat(sent), 'done')
  const [{ parts }] = await talker.messages()
  const stored = parts.map(({ payloadId }: any) => ({ type: 'file', payloadId }))
  const opened = vi.spyOn(FilePayloadStore.prototype, 'openStream')
  const read = vi.spyOn(FilePayloadStore.prototype, 'readBytes')
  for (const agentId of ['reads', 'bounds']) {
    const { sessionId } = await talker.another(agentId)
    const quote = async (message: unknown) => {
      const { body, status } = await service.post('/api/quotes', { chat: { sessionId, message } }, { key: talker.key })
      expect(status, JSON.stringify(body)).toBe(200)
      return body.holdUsd
    }
    for (const [nth, part] of sent.entries()) {
      expect(await quote([stored[nth]]), `${agentId} ${part.mediaType}`).toBe(await quote([part]))
    }
  }
  expect(opened).not.toHaveBeenCalled()
  expect(read).not.toHaveBeenCalled()
  const message = [stored[1]]
  const { sessionId } = await talker.another('bounds')
  const { body } = await service.post('/api/quotes', { chat: { sessionId, message } }, { key: talker.key })
  const { quoteId } = body
  expect((await service.post('/api/chat', { sessionId, message, quoteId }, { key: talker.key })).status).toBe(200)
  expect(read).toHaveBeenCalledTimes(1)
  expect(await service.app.store.verifyLedger()).toMatchObject({ ok: true })
  await service.stop()
})

test('quotes beyond the write rate get 429 and open no stored file', async () => {
  const clock = new FakeClock()
  const service = await startService({ config, clock, limits: { executionsPerMinute: 0, writesPerMinute: 10 } })
  const talker = await Talker.create(service, { agentId: 'reads', balanceUsd: '1000.0000' })
  const file = await storedFile(talker)
  const other = await Talker.create(service, { agentId: 'reads' })
  const { key, sessionId } = talker
  const quote = (message: unknown, of = talker) =>
    service.post('/api/quotes', { chat: { sessionId: of.sessionId, message } }, { key: of.key })
  // Creating the session was the first change.
  for (let nth = 2; nth <= 10; nth++) expect((await quote([file])).status).toBe(200)
  const refused = await quote([file])
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '60'])
  expect(refused.body.message).toBe(
    'At most 10 changes and quotes per account per minute are allowed. Wait before you try again.',
  )
  expect((await quote('Hello', other)).status).toBe(200)
  expect((await service.post('/api/chat', { sessionId, message: 'Hello' }, { key })).status).toBe(200)
  clock.advance(60_000)
  expect((await quote([file])).status).toBe(200)
  await service.stop()
})

test("two accounts with hanging chats leave room for others and free the server thread's memory", async () => {
  const configFile = fileURLToPath(new URL('../../../support/hanging-agents.ts', import.meta.url))
  const service = await startService({ config: hangingAgents, configFile, limits: { executionsPerMinute: 0 } })
  const create = () => Talker.create(service, { agentId: 'hangs', balanceUsd: '0.0000' })
  const [first, second, honest] = [await create(), await create(), await create()]
  const messageOf = async (talker: Talker, text: string) => {
    const file = await storedFile(talker)
    return [{ type: 'text', text }, ...Array.from({ length: filesOfMessage }, () => file)]
  }
  const message = await messageOf(honest, 'Hello')
  const external = () => {
    collectGarbage()
    return process.memoryUsage().external
  }
  const before = external()
  const readers: ChatReader[] = []
  for (const talker of [first, second]) {
    const hang = await messageOf(talker, 'Hang')
    for (;;) {
      const reader = await (await talker.another('hangs')).open(hang)
      if (reader.status !== 200) {
        expect(reader.status).toBe(503)
        break
      }
      await reader.until('assistant_delta')
      readers.push(reader)
    }
  }
  // Each account has six replies, with 20 MB of files each.
  expect(readers).toHaveLength(12)
  const reply = await (await honest.another('hangs')).chat(message)
  expectOneEnd(reply, 'done')
  expect(textOf(reply)).toBe(JSON.stringify(Array(filesOfMessage).fill(fileBytes)))
  await expect.poll(() => external() - before, soon).toBeLessThan(filesOfMessage * fileBytes)
  for (const reader of readers) reader.leave()
  // The memory of these replies is free once they have ended.
  const again = await first.another('hangs')
  const own = await messageOf(first, 'Hello')
  await expect.poll(async () => (await again.open(own)).status, soon).toBe(200)
  expect(await service.app.store.verifyLedger()).toMatchObject({ ok: true })
  await service.stop()
})
