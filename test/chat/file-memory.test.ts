import { afterEach, expect, test, vi } from 'vitest'
import { defineConfig } from '../../server/agents/config/define-config.ts'
import { FilePayloadStore } from '../../server/payloads/file-payload-store.ts'
import { filePartOf } from '../support/sample-files.ts'
import { startService } from '../support/test-service.ts'
import { expectOneEnd, soon, Talker, textOf, unitsOf } from './chat-checks.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

const fileBytes = 5_242_880
const filesOfMessage = 4
/** What one user's files may take of the memory. */
const userBytesMax = 134_217_728

const config = defineConfig({
  agents: [
    {
      kind: 'code',
      id: 'reads',
      name: 'Reads',
      chat: {
        accepts: ['text/*'],
        contextTokens: 10_000_000,
        pricing: { inputPer1kUsd: '0.001', outputPer1kUsd: '0.001' },
        async *reply({ parts }) {
          const bytes = parts?.map((part) => (part.type === 'file' ? part.data?.length : part.text))
          yield { type: 'text', delta: JSON.stringify(bytes) }
        },
      },
    },
  ],
})

const large = () => filePartOf('a'.repeat(fileBytes), { mediaType: 'text/plain' })

/** A file as large as it may be, by the id that it has in the message it came with. */
async function storedFile(talker: Talker): Promise<{ type: 'file'; payloadId: string }> {
  const events = await talker.chat([large()])
  expectOneEnd(events, 'done')
  expect(textOf(events)).toBe(`[${fileBytes}]`)
  const [{ parts }] = await talker.messages()
  return { type: 'file', payloadId: parts[0].payloadId }
}

/** Holds all reads of files until `go`; how many bytes of them there are. */
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

test('a file as large as a file may be arrives, and base64 that is none is told from it', async () => {
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

test('a message that balance, rate or limits refuse whatever its files are has none of them read', async () => {
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

test.each(['chats', 'quotes'])(
  'files of many %s of one user take a bounded part of the memory, and leave room for others',
  async (what) => {
    const service = await startService({ config, limits: { executionsPerMinute: 0 } })
    const talker = await Talker.create(service, { agentId: 'reads', balanceUsd: '1000.0000' })
    const other = await Talker.create(service, { agentId: 'reads', balanceUsd: '1000.0000' })
    const [file, ofOther] = [await storedFile(talker), await storedFile(other)]
    const send = async (of: Talker, part: object, count = filesOfMessage) => {
      const message = Array.from({ length: count }, () => part)
      const { sessionId } = await of.another('reads')
      const [path, body] =
        what === 'chats' ? ['/api/chat', { sessionId, message }] : ['/api/quotes', { chat: { sessionId, message } }]
      const { status } = await fetch(service.url + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${of.key}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
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
    // All of it is free again.
    await expect.poll(() => send(talker, file), soon).toBe(200)
    expect(await service.app.store.verifyLedger()).toMatchObject({ ok: true })
    await service.stop()
  },
)
