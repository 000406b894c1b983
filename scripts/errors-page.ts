import { streamCode } from '../server/chat/event-lines.ts'
import { errorCatalogue, type ErrorCode } from '../server/kernel/errors.ts'
import { clientOnlyWords, errorWords, taskFailureWords, turnEndWords } from './error-words.ts'
import { markdownTable } from './markdown-table.ts'

type Words = { cause: string; remedy: string }

/** Generates docs/reference/errors.md: every code with its status, meaning and remedy. */
export function errorsPage(): string {
  const codes = Object.keys(errorCatalogue) as ErrorCode[]
  const renamed = codes.filter((code) => streamCode(code) !== code)
  return `${[
    '# Errors',
    "Written by `npm run reference` from the service's tables of codes; a test fails when it differs.",
    '## Answers',
    'The body of an error is `{ "error", "message", "statusCode", "code" }`, on 400 also `details: [{ "path", "message" }]`. Programs tell errors apart by `code`: a new one may come, which is then to be treated by its status. Every answer has `X-Request-Id`. The typed client has the code as `code`, typed RPC as `data.errorCode`, and the metric `errand_refusals_total` as its label.',
    markdownTable(
      ['code', 'status', '`error`', 'cause', 'what to do'],
      codes.map((code) => {
        const { error, status } = errorCatalogue[code]
        const { cause, remedy } = errorWords[code]
        return [`\`${code}\``, String(status), error, cause, remedy]
      }),
    ),
    '## Chats',
    `A chat that is refused has the status of its code, and one \`error\` event with the code of the table above as \`code\`. Its \`error.code\` is the same, but that ${renamed
      .map((code) => `\`${code}\``)
      .join(
        ' and ',
      )} are \`${streamCode('NOT_FOUND')}\`. A reply that ends before its time ends with an \`error\` event, whose \`costUsd\` is what was charged:`,
    wordsTable(turnEndWords),
    '## Failed tasks',
    'A task that failed was refunded in full. Its `error` is `{ "code", "message", "details" }`:',
    wordsTable(taskFailureWords),
    '## The typed client',
    'Codes of `ErrandClientError` that only the client can find:',
    wordsTable(clientOnlyWords),
  ].join('\n\n')}\n`
}

function wordsTable(words: Record<string, Words>): string {
  const rows = Object.entries(words).map(([code, { cause, remedy }]) => [`\`${code}\``, cause, remedy])
  return markdownTable(['code', 'cause', 'what to do'], rows)
}
