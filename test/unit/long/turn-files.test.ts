import type { OwnedPayload } from '../../../server/store/tasks/task-types.ts'
import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import type { Chat } from '../../../server/agents/config/catalogue.ts'
import { sumTokens } from '../../../server/agents/files/file-tokens.ts'
import type { Caller } from '../../../server/procedures/caller.ts'
import type { Place } from '../../../server/kernel/fair-places.ts'
import { readMessage, type MessageDraft } from '../../../server/chat/files/message-draft.ts'
import { TurnFiles } from '../../../server/chat/files/turn-files.ts'
import type { PayloadStore } from '../../../server/payloads/payload-store.ts'
import type { SignedLinks } from '../../../server/payloads/signed-links.ts'

const limits = { fileBytesMax: 1000, messageFileBytesMax: 3000 }

/** Creates TurnFiles on an in-memory file store that records its calls. */
function startFiles({ balance = 1000 } = {}) {
  const rows = new Map<string, Partial<OwnedPayload>>()
  const contents = new Map<string, Buffer>()
  const asked: string[] = []
  const payloads = {
    write: async (content: Buffer) => {
      const id = `pay_${contents.size + 1}`
      asked.push(`write ${id}`)
      contents.set(id, content)
      return { id, digest: { sha256: id, bytes: content.length } }
    },
    release: async (id: string, discard = false) => void asked.push(`release ${id} ${discard}`),
    readBytes: async (id: string) => (asked.push(`read ${id}`), contents.get(id)!),
    openStream: async (id: string) => ({ bytes: contents.get(id)!.length, stream: () => Readable.from([]) }),
  } as unknown as PayloadStore
  const store = {
    findPayload: async (id: string) => rows.get(id) as OwnedPayload | undefined,
    getAccount: async () => ({ balance, held: 0 }) as never,
  }
  const links = { create: (id: string) => `https://example.com/${id}` } as unknown as SignedLinks
  const log = { error: () => {}, warn: () => {} } as never
  const keep = (id: string, content: Buffer, row: Partial<OwnedPayload> = {}) => {
    contents.set(id, content)
    rows.set(id, { userId: 'user_1', sessionId: 'ses_1', mediaType: 'text/plain', filename: null, ...row })
  }
  return { asked, keep, payloads, rows, store, files: new TurnFiles({ limits, links, log, payloads, store }) }
}

function draftOf(...contents: Buffer[]): MessageDraft {
  const counted = { tokens: 1, tokensMax: 1 }
  const parts = contents.map((content) => ({
    type: 'file' as const,
    file: { ...counted, bytes: content.length, estimate: 1, content, mediaType: 'text/plain', filename: undefined },
  }))
  return { text: '', parts, files: sumTokens([counted]) }
}

const of = (draft: MessageDraft) => ({ draft, earlier: [], required: 100, userId: 'user_1' })

test('writes no file for a message that the balance does not cover', async () => {
  const { asked, files } = startFiles({ balance: 99 })
  await expect(files.keep(of(draftOf(Buffer.from('text'))))).rejects.toMatchObject({ code: 'INSUFFICIENT_BALANCE' })
  expect(asked).toEqual([])
})

test('limits file memory to 512 MB in total and 128 or 64 MB per user', () => {
  const { files } = startFiles()
  const megabyte = 1024 * 1024
  /** Reserves memory for 16 MB files until a reservation is rejected, and returns the reservations. */
  const fill = (userId: string): Place[] => {
    const places: Place[] = []
    for (;;) {
      const place = files.place(userId)
      if (place.hold(16 * megabyte)) return places
      places.push(place)
    }
  }
  const all = Array.from({ length: 7 }, (_, n) => fill(`user_${n}`))
  expect(all.map(({ length }) => length * 16)).toEqual([128, 128, 64, 64, 64, 64, 0])
  for (const place of all[0]!) place.release()
  expect(fill('user_7').length * 16).toBe(64)
})

test('discards files without a row when a turn ends, and keeps the others', async () => {
  const { asked, files, rows } = startFiles()
  const stored = await files.keep(of(draftOf(Buffer.from('one'), Buffer.from('other'))))
  rows.set('pay_1', {})
  await files.ended(stored.files)
  expect(asked.slice(2)).toEqual(['release pay_1 false', 'release pay_2 true'])
})

test('sends the newest files of the history, up to the message limit', async () => {
  const { asked, files, keep } = startFiles()
  const messages = [1, 2, 3, 4].map((n) => {
    keep(`pay_old${n}`, Buffer.alloc(900, n))
    const file = { payloadId: `pay_old${n}`, mediaType: 'text/plain', bytes: 900, tokens: 1, tokensMax: 1 }
    return { role: 'user' as const, content: '', parts: [{ type: 'file' as const, ...file }] }
  })
  const place = files.place('user_1')
  place.hold(500)
  const chat = { imageTokensMax: undefined, documentTokensMax: undefined }
  const sent = await files.ofHistory(messages, { chat, hasData: true, place })
  const lengths = sent.map(({ parts }) => parts!.map((part) => ('data' in part ? part.data?.length : undefined)))
  expect(lengths).toEqual([[undefined], [undefined], [900], [900]])
  expect(asked.filter((what) => what.startsWith('read'))).toEqual(['read pay_old4', 'read pay_old3'])
})

test('accepts only files that the caller may use and the agent accepts', async () => {
  const { asked, files, keep, payloads, store } = startFiles()
  keep('pay_small', Buffer.from('A text.'))
  keep('pay_large', Buffer.alloc(1001, 'x'))
  keep('pay_pdf', Buffer.from('%PDF-1.4\n%%EOF\n'), { mediaType: 'application/pdf' })
  const chat = { accepts: ['text/*'] } as Partial<Chat> as Chat
  const read = (payloadId: string, token: object | null = null, userId = 'user_1') => {
    const credential = token ? { kind: 'clientToken', ...token } : { kind: 'operator' }
    const caller = { userId, credential } as Caller
    const setting = {
      place: files.place(userId),
      onLarge: async () => {},
      path: 'message',
      left: { files: 10, bytes: 3000 },
    }
    return readMessage([{ type: 'file', payloadId }], { caller, chat, ...setting }, { limits, payloads, store })
  }
  const path = (field: string) => ({ details: [{ path: `message[0].${field}` }] })
  expect((await read('pay_small', { sessionId: 'ses_1' })).parts).toHaveLength(1)
  expect((await read('pay_small', { sessionId: null })).parts).toHaveLength(1)
  asked.length = 0
  await expect(read('pay_small', { sessionId: 'ses_2' })).rejects.toMatchObject(path('payloadId'))
  await expect(read('pay_small', null, 'user_2')).rejects.toMatchObject(path('payloadId'))
  await expect(read('pay_large')).rejects.toMatchObject(path('payloadId'))
  await expect(read('pay_pdf')).rejects.toMatchObject(path('mediaType'))
  expect(asked).toEqual([])
})
