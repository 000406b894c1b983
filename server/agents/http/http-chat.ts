import type { IncomingMessage } from 'node:http'
import { readBody } from '../../outbound/exchange.ts'
import type { ChatMessage, ChatPart, ChatRun, MessagePart } from '../config/define-config.ts'
import { post } from './http-exchange.ts'
import { AgentServiceError, agentService } from './http-failure.ts'
import { eventIn, linesType, readLines } from './http-lines.ts'
import { expectOk } from './http-refusal.ts'
import type { HttpLimits, HttpService } from './http-service.ts'

export type HttpChat = { service: HttpService; run: ChatRun; limits: HttpLimits }

/**
 * Sends the chat to the agent's service and yields the parts of its reply, with backpressure. On abort, the reply ends
 * without an error, because nothing reads the rest.
 */
export async function* runHttpChat({ limits, run, service }: HttpChat): AsyncGenerator<ChatPart> {
  const { signal } = run
  let answer: IncomingMessage | undefined
  try {
    answer = await ask({ limits, run, service })
    await expectOk(answer, [linesType], limits)
    if (!isFramed(answer)) {
      throw new AgentServiceError(
        "The agent's service sent a reply without Transfer-Encoding or Content-Length. Send it with Transfer-Encoding: chunked.",
      )
    }
    const chunks = readBody(answer, { peer: agentService, bytesMax: Infinity })
    for await (const line of readLines(chunks, limits.lineBytesMax)) {
      if (signal.aborted) return
      yield eventIn(line) as ChatPart
    }
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    answer?.destroy()
  }
}

async function ask({ limits, run, service }: HttpChat): Promise<IncomingMessage> {
  const { history, log, message, params, parts, sessionId, signal, traceparent, turnId, userId } = run
  const inParts = parts && { parts: toldParts(parts) }
  const body = {
    type: 'chat',
    sessionId,
    turnId,
    userId,
    message,
    ...inParts,
    history: history.map(toldMessage),
    params,
  }
  const { chatHeadMs: headMs, connectMs } = limits
  const sent = { service, id: turnId, userId, body, accept: linesType, traceparent }
  return await post({ ...sent, signal, log, connectMs, headMs })
}

function toldMessage({ content, parts, role }: ChatMessage) {
  return { role, content, ...(parts && { parts: toldParts(parts) }) }
}

/** Replaces file contents with URLs, so that the agent's service downloads only the files it needs. */
function toldParts(parts: readonly MessagePart[]) {
  return parts.map((part) => {
    if (part.type === 'text') return part
    const { bytes, filename, mediaType, type, url } = part
    return { type, mediaType, ...(filename !== undefined && { filename }), bytes, url }
  })
}

/** Whether the response declares its length or is chunked. If neither, truncation would go unnoticed. */
function isFramed({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || headers['content-length'] !== undefined
}
