import type { IncomingMessage } from 'node:http'
import type { output, ZodType } from 'zod'
import { ExportTransactionsInput } from '../../account/account-schema.ts'
import { exportLines, type ExportParts } from '../../account/export-account.ts'
import { transactionsCsv } from '../../account/transactions-csv.ts'
import { rateHeaders } from '../../billing/rate-headers.ts'
import { rateOf, restForm, tableType } from '../../http/answer-forms.ts'
import { streamReader } from '../../http/limits/disconnect-signal.ts'
import type { RoutedRequest } from '../../http/routed-request.ts'
import type { Route } from '../../http/route-table.ts'
import { linesType, writeLines } from '../../http/write-lines.ts'
import { must } from '../../kernel/assert.ts'
import { badInput } from '../../kernel/bad-input.ts'
import { ErrandError } from '../../kernel/errors.ts'
import { ownTurn } from '../../kernel/own-turn.ts'
import { requireScope, type AnyCaller, type Caller } from '../../procedures/caller.ts'
import { holdAnswer } from '../../procedures/hold-answer.ts'
import { requireReach } from '../../procedures/token-reach.ts'
import type { CallerScope } from '../../store/access/key-types.ts'
import { exportTasks } from '../../tasks/export-tasks.ts'
import { ExportTasksInput } from '../../tasks/task-schema.ts'
import { queryFields, readQuery } from './query-input.ts'

const csvType = `${tableType}; charset=utf-8`
const chunkChars = 65_536
const retryAfterSeconds = 30

/** Input schemas of the exports, shared with the OpenAPI document. */
export const exportInputs = { tasks: ExportTasksInput, transactions: ExportTransactionsInput }

export function exportRoutes(parts: ExportParts, stallMs: number): Route[] {
  const readTransactions = readerOf(exportInputs.transactions)
  const readTasks = readerOf(exportInputs.tasks)
  return [
    exportRoute({
      path: '/api/account/export',
      operation: 'exportAccount',
      isAudited: true,
      scope: 'manage',
      type: () => linesType,
      fileName: (userId) => `errand-${userId}`,
      stallMs,
      open: () => async (userId) => {
        await parts.store.audit.note({ action: 'user.exported', userId })
        return exportLines(parts, userId)
      },
    }),
    exportRoute({
      path: '/api/transactions/export',
      operation: 'exportTransactions',
      scope: 'read',
      type: () => csvType,
      fileName: () => 'errand-transactions',
      stallMs,
      open({ query }) {
        const input = readTransactions(query)
        return (userId) => transactionsCsv(parts.store, { input, userId })
      },
    }),
    exportRoute({
      path: '/api/tasks/export',
      operation: 'exportTasks',
      scope: 'read',
      type: typeOfTasks,
      fileName: () => 'errand-tasks',
      stallMs,
      open({ query, request }) {
        const input = readTasks(query)
        const isCsv = typeOfTasks(request) === csvType
        return (userId) => exportTasks(parts.store, { input, isCsv, userId })
      },
    }),
  ]
}

function typeOfTasks({ headers: { accept = '' } }: IncomingMessage): string {
  return accept.includes(linesType) ? linesType : csvType
}

function readerOf<Schema extends ZodType>(schema: Schema): (query: string) => output<Schema> {
  const fields = queryFields(schema)
  return (query) => {
    const parsed = schema.safeParse(readQuery(query, fields))
    if (!parsed.success) throw badInput(parsed.error.issues)
    return parsed.data
  }
}

type ExportRoute = Pick<Route, 'path' | 'operation' | 'isAudited'> & {
  scope: CallerScope
  /** Returns the media type of the file. */
  type: (request: IncomingMessage) => string
  /** Returns the file's name without the extension. */
  fileName: (userId: string) => string
  stallMs: number
  /** Throws if the query is invalid. */
  open: (routed: RoutedRequest) => (userId: string) => AsyncGenerator<string> | Promise<AsyncGenerator<string>>
}

/** Streams a file as fast as the client reads. A user can have one export of each kind in progress. */
function exportRoute({ fileName, open, scope, stallMs, type: typeOf, ...route }: ExportRoute): Route {
  const exporting = new Set<string>()
  const requireOwn: (caller: AnyCaller) => asserts caller is Caller = (caller) => {
    requireScope(caller, scope)
    requireReach(caller, 'none')
  }
  return {
    ...route,
    methods: ['GET'],
    isGated: true,
    auth: requireOwn,
    form: restForm,
    async handle(routed) {
      const { context, headers, request, response } = routed
      const caller = must(context.caller, 'the route requires authentication')
      requireOwn(caller)
      const { userId } = caller
      const start = open(routed)
      const type = typeOf(request)
      if (exporting.has(userId)) {
        const message = 'An export of this account is already in progress. Retry when it has ended.'
        throw new ErrandError('RATE_LIMIT_EXCEEDED', message, { isOtherRate: true, retryAfterSeconds })
      }
      exporting.add(userId)
      let lines: AsyncGenerator<string> | undefined
      try {
        const opened = (lines = await start(userId))
        holdAnswer(context)
        const rate = await rateOf(context)
        if (rate) headers.push(...rateHeaders(rate))
        const name = `${fileName(userId)}.${type === linesType ? 'ndjson' : 'csv'}`
        headers.push('Content-Disposition', `attachment; filename="${name}"`)
        const { left } = streamReader(response, stallMs)
        const next = async () => {
          const chunk = await nextChunk(opened, { left, userId })
          // Clear the entry before the response ends, because the client may start its next export immediately.
          if (chunk === undefined) exporting.delete(userId)
          return chunk
        }
        await writeLines(response, { headers, type, next, stallMs })
      } finally {
        exporting.delete(userId)
        await lines?.return(undefined)
      }
    },
  }
}

type Reader = { left: AbortSignal; userId: string }

async function nextChunk(lines: AsyncGenerator<string>, { left, userId }: Reader): Promise<string | undefined> {
  // SQLite answers within the current tick, so without this the whole export would run in a single tick.
  await ownTurn(userId)
  let chunk = ''
  while (chunk.length < chunkChars && !left.aborted) {
    const { done, value } = await lines.next()
    if (done) return chunk || undefined
    chunk += value
  }
  return left.aborted ? undefined : chunk
}
