import { rateHeaders } from '../../billing/rate-headers.ts'
import { rateOf, sseIdle } from '../../http/answer-forms.ts'
import { respond } from '../../http/respond.ts'
import type { RoutedRequest } from '../../http/routed-request.ts'
import { writeLines } from '../../http/write-lines.ts'
import type { Reply } from './start-reply.ts'

export type Translation = {
  begin: () => string
  write: (lines: string) => string
  finish: () => Promise<string>
}

type ReplyHeaders = { turnId: string; costUsd?: string | undefined }

export async function answerReply(
  { context, headers, response }: RoutedRequest,
  body: object,
  of: ReplyHeaders,
): Promise<void> {
  headers.push(...toldHeaders(of))
  const rate = await rateOf(context)
  if (rate) headers.push(...rateHeaders(rate))
  respond(response, { status: 200, text: JSON.stringify(body), headers })
}

export async function streamReply(
  { context, headers, response }: RoutedRequest,
  { reply, stallMs, translation }: { reply: Reply; stallMs: number; translation: Translation },
): Promise<void> {
  headers.push(...toldHeaders(reply))
  const rate = await rateOf(context)
  if (rate) headers.push(...rateHeaders(rate))
  let opening = translation.begin()
  let isOver = false
  const next = async (): Promise<string | undefined> => {
    while (!isOver) {
      const lines = await reply.next()
      isOver = lines === undefined
      const events = opening + (lines === undefined ? await translation.finish() : translation.write(lines))
      opening = ''
      // Some lines have no equivalent in the protocol.
      if (events === '') continue
      reply.told()
      return events
    }
    return undefined
  }
  await writeLines(response, { headers, next, stallMs, ...sseIdle })
}

export function toldHeaders({ costUsd, turnId }: ReplyHeaders): string[] {
  return ['Errand-Turn-Id', turnId, ...(costUsd === undefined ? [] : ['Errand-Cost-Usd', costUsd])]
}
