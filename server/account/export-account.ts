import { listKeys } from '../auth/keys/manage-keys.ts'
import { listConnectors } from '../connectors/manage-connectors.ts'
import { isoTime, type Clock } from '../kernel/clock.ts'
import { must } from '../kernel/assert.ts'
import { formatUsd } from '../kernel/money.ts'
import type { PayloadStore } from '../payloads/payload-store.ts'
import type { StoredJson } from '../payloads/stored-json.ts'
import { toTopup } from '../payments/manage-topups.ts'
import { getSession } from '../chat/sessions/session-operations.ts'
import { pageBytesMax } from '../store/byte-bounds.ts'
import type { ExportedType } from '../store/erasure/personal-data.ts'
import type { ListPlace } from '../store/list-place.ts'
import type { MessageRecord } from '../store/sessions/session-types.ts'
import type { Store } from '../store/store.ts'
import { toTask } from '../tasks/read-task.ts'
import { listWebhooks } from '../webhooks/manage-webhooks.ts'
import { toTransaction } from './list-transactions.ts'

export type ExportParts = { store: Store; clock: Clock; payloads: Pick<PayloadStore, 'read' | 'readBytes'> }
type Exported = ExportParts & { userId: string; createdBefore: number }
type Lines = AsyncGenerator<string>

const limit = 100
/**
 * Used instead of the service's links and live progress. Links would expire, and the export reads progress only from
 * the store.
 */
const stored = { links: { create: () => '' }, live: { of: () => undefined } }

/** Yields a user's data as JSON lines, reading one page at a time. The last line has the type `end`. */
export async function* exportLines(parts: ExportParts, userId: string): Lines {
  // Exclude tasks, sessions and transactions created during the export.
  const of = { ...parts, userId, createdBefore: parts.clock.now() + 1 }
  let count = 0
  for (const write of Object.values(writers)) {
    for await (const line of write(of)) {
      yield line
      count++
    }
  }
  yield toLine('end', { lines: count })
}

/** The `session` writer also yields the `message` and `payload` lines. */
const writers: Record<Exclude<ExportedType, 'message' | 'payload'>, (of: Exported) => Lines> = {
  async *account({ store, userId }) {
    const user = must(await store.getUser(userId), 'the user exists')
    const { balance, createdAt, email, externalId, held, isAdmin, limits, notifyBelow, owed, plan } = user
    const { methodLabel } = await store.payments.getAccount(userId)
    yield toLine('account', {
      id: userId,
      email,
      externalId,
      isAdmin,
      balanceUsd: formatUsd(balance),
      heldUsd: formatUsd(held),
      owedUsd: formatUsd(owed),
      notifyBelowUsd: notifyBelow === null ? null : formatUsd(notifyBelow),
      plan,
      limits,
      savedMethod: methodLabel,
      createdAt: isoTime(createdAt),
    })
  },
  async *key({ clock, store, userId }) {
    const read = async (page: Page) => (await listKeys({ clock, store }, { userId, ...page })).keys
    for await (const key of pagesOf(read)) yield toLine('key', key)
  },
  async *login({ store, userId }) {
    const read = async (page: Page) => (await store.listLogins({ userId, ...page })).logins
    for await (const { createdAt, id, lastUsedAt, method, provider, userAgent } of pagesOf(read)) {
      const times = { createdAt: isoTime(createdAt), lastUsedAt: isoTime(lastUsedAt) }
      yield toLine('login', { id, method, provider, userAgent, ...times })
    }
  },
  async *connector({ store, userId }) {
    const read = async (page: Page) =>
      (await listConnectors({ store }, { userId, ...page, bytesMax: Infinity })).connectors
    for await (const connector of pagesOf(read)) yield toLine('connector', connector)
  },
  async *webhook({ store, userId }) {
    const read = async (page: Page) => (await listWebhooks({ store }, { userId, ...page })).webhooks
    for await (const webhook of pagesOf(read)) yield toLine('webhook', webhook)
  },
  async *topup({ store, userId }) {
    const read = (page: Page) => store.payments.listTopups({ userId, ...page })
    for await (const topup of pagesOf(read)) yield toLine('topup', toTopup(topup))
  },
  async *transaction({ store, ...of }) {
    const read = async (after: After) => {
      const { next, transactions: items } = await store.listTransactions({ ...rangeOf(of), ...after })
      return { items, next }
    }
    for await (const transaction of cursorPagesOf(read)) yield toLine('transaction', toTransaction(transaction))
  },
  async *task({ payloads, store, ...of }) {
    const read = async (after: After) => {
      const { next, tasks: items } = await store.listTasks({ ...rangeOf(of), ...after })
      return { items, next }
    }
    for await (const { id: taskId } of cursorPagesOf(read)) {
      const record = await store.getTask({ userId: of.userId, taskId })
      if (!record) continue
      const { request: _, requestUri: _1, response: _2, responseUri: _3, ...task } = toTask(record, stored)
      const { request, response } = record
      // Copy the JSON without parsing it, because it can be large.
      const params = await jsonOf({ payloads, store }, request)
      const result = response === null ? 'null' : await jsonOf({ payloads, store }, response)
      yield `${toLine('task', task).slice(0, -'}}\n'.length)},"request":${params},"response":${result}}}\n`
    }
  },
  async *session({ payloads, store, ...of }) {
    const { userId } = of
    const read = async (after: After) => {
      const { next, sessions: items } = await store.listSessions({ ...rangeOf(of), ...after })
      return { items, next }
    }
    for await (const { id: sessionId } of cursorPagesOf(read)) {
      const session = await store.getSession({ userId, sessionId })
      if (!session) continue
      yield toLine('session', await getSession(store, { userId, sessionId }))
      for await (const message of messagesOf(store, { userId, sessionId })) {
        yield* messageLines({ payloads, store }, { sessionId, message })
      }
    }
  },
  async *act({ store, userId }) {
    const read = async ({ after }: After) => {
      const { acts: items, next } = await store.audit.list({ userId, limit, ...(after && { after }) })
      return { items, next }
    }
    for await (const act of cursorPagesOf(read)) yield toLine('act', { ...act, createdAt: isoTime(act.createdAt) })
  },
}

type Page = { limit: number; offset: number }
type After = { after?: ListPlace }

async function* pagesOf<Item>(read: (page: Page) => Promise<readonly Item[]>): AsyncGenerator<Item> {
  for (let offset = 0; ; offset += limit) {
    const items = await read({ limit, offset })
    yield* items
    if (items.length < limit) return
  }
}

async function* cursorPagesOf<Item>(
  read: (after: After) => Promise<{ items: readonly Item[]; next: ListPlace | undefined }>,
): AsyncGenerator<Item> {
  let page = await read({})
  for (;;) {
    yield* page.items
    if (!page.next) return
    page = await read({ after: page.next })
  }
}

function rangeOf({ createdBefore, userId }: { userId: string; createdBefore: number }) {
  return { userId, createdBefore, limit, offset: 0 }
}

async function* messagesOf(store: Store, of: { userId: string; sessionId: string }): AsyncGenerator<MessageRecord> {
  for (let offset = 0; ;) {
    const messages = (await store.listMessages({ ...of, limit, offset, bytesMax: pageBytesMax }))?.messages ?? []
    yield* messages
    if (messages.length === 0) return
    offset += messages.length
  }
}

type Files = Pick<ExportParts, 'payloads' | 'store'>

async function* messageLines(
  { payloads, store }: Files,
  { message, sessionId }: { message: MessageRecord; sessionId: string },
): Lines {
  const { createdAt, ...shown } = message
  yield toLine('message', { sessionId, ...shown, createdAt: isoTime(createdAt) })
  for (const part of message.parts ?? []) {
    if (part.type === 'text') continue
    const { filename, mediaType, payloadId: id } = part
    const digest = (await store.findPayload(id))?.digest ?? null
    const content = await payloads.readBytes(id, digest).catch(() => null)
    yield toLine('payload', { id, mediaType, filename, base64: content?.toString('base64') ?? null })
  }
}

/** Falls back to the preview, as a JSON string, if the payload cannot be read. */
async function jsonOf({ payloads, store }: Files, { payloadId, text }: StoredJson): Promise<string> {
  if (payloadId === null) return onOneLine(text)
  const digest = (await store.findPayload(payloadId))?.digest ?? null
  const json = await payloads.read(payloadId, digest).catch(() => undefined)
  return json === undefined ? JSON.stringify(text) : onOneLine(json)
}

/** Valid JSON has line breaks only between tokens, so all of them can be replaced. */
function onOneLine(json: string): string {
  return json.replaceAll(/[\r\n]/g, ' ')
}

function toLine(type: ExportedType | 'end', data: object): string {
  return `${JSON.stringify({ type, data })}\n`
}
