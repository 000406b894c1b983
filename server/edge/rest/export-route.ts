import { exportLines, type ExportParts } from '../../account/export-account.ts'
import { rateHeaders } from '../../billing/rate-headers.ts'
import { rateOf, restForm } from '../../http/answer-forms.ts'
import { streamReader } from '../../http/limits/disconnect-signal.ts'
import type { Route } from '../../http/route-table.ts'
import { writeLines } from '../../http/write-lines.ts'
import { must } from '../../kernel/assert.ts'
import { ErrandError } from '../../kernel/errors.ts'
import { requireScope, type AnyCaller } from '../../procedures/caller.ts'
import { holdAnswer } from '../../procedures/hold-answer.ts'
import { requireReach } from '../../procedures/token-reach.ts'

const chunkChars = 65_536
const retryAfterSeconds = 30

/** Streams the account's data as a file, as fast as the client reads. */
export function exportRoute(parts: ExportParts, stallMs: number): Route {
  const exporting = new Set<string>()
  return {
    methods: ['GET'],
    path: '/api/account/export',
    operation: 'exportAccount',
    isGated: true,
    isAudited: true,
    auth: requireOwn,
    form: restForm,
    async handle({ context, headers, response }) {
      const caller = must(context.caller, 'the route requires authentication')
      requireOwn(caller)
      const { userId } = caller
      if (exporting.has(userId)) {
        const message = 'An export of this account is already in progress. Retry when it has ended.'
        throw new ErrandError('RATE_LIMIT_EXCEEDED', message, { isOtherRate: true, retryAfterSeconds })
      }
      exporting.add(userId)
      const lines = exportLines(parts, userId)
      try {
        await parts.store.audit.note({ action: 'user.exported', userId })
        holdAnswer(context)
        const rate = await rateOf(context)
        if (rate) headers.push(...rateHeaders(rate))
        headers.push('Content-Disposition', `attachment; filename="errand-${userId}.ndjson"`)
        const { left } = streamReader(response, stallMs)
        await writeLines(response, { headers, next: () => nextChunk(lines, left), stallMs })
      } finally {
        exporting.delete(userId)
        await lines.return(undefined)
      }
    },
  }
}

function requireOwn(caller: AnyCaller): asserts caller is Extract<AnyCaller, { userId: string }> {
  requireScope(caller, 'manage')
  requireReach(caller, 'none')
}

async function nextChunk(lines: AsyncGenerator<string>, left: AbortSignal): Promise<string | undefined> {
  let chunk = ''
  while (chunk.length < chunkChars && !left.aborted) {
    const { done, value } = await lines.next()
    if (done) return chunk || undefined
    chunk += value
  }
  return left.aborted ? undefined : chunk
}
