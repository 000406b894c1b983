import type { IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { clip } from '../../kernel/clip.ts'
import { expectUncompressed, readBody } from '../../outbound/exchange.ts'
import { AgentServiceError, agentService } from './http-failure.ts'
import type { HttpLimits } from './http-service.ts'

type Limits = Pick<HttpLimits, 'refusalBytesMax' | 'refusalMs'>

const reasonCharsMax = 1000

/**
 * Resolves with the content type. Throws if the status is not 200, the content type is not in the list, or the body is
 * compressed. The error includes the reason given in the response, if any.
 */
export async function expectOk<Type extends string>(
  answer: IncomingMessage,
  contentTypes: readonly Type[],
  limits: Limits,
): Promise<Type> {
  const { statusCode: status = 0 } = answer
  if (status >= 300 && status < 400 && status !== 304) {
    throw new AgentServiceError(
      `The agent's service responded with a redirect (${status}). Set the agent's url to the final URL.`,
    )
  }
  if (status !== 200) {
    const reason = await readReason(answer, limits)
    throw new AgentServiceError(`The agent's service responded with ${status}${reason ? `: ${reason}` : '.'}`)
  }
  expectUncompressed(answer, agentService)
  const given = contentTypeOf(answer)
  const known = contentTypes.find((type) => type === given)
  if (known !== undefined) return known
  const type = given ? `the content type ${clip(given, 100)}` : 'no content type'
  throw new AgentServiceError(
    `The agent's service responded with ${type}. Send the Content-Type ${contentTypes.join(' or ')}.`,
  )
}

function contentTypeOf({ headers }: IncomingMessage): string {
  return (headers['content-type'] ?? '').split(';')[0]!.trim().toLowerCase()
}

async function readReason(answer: IncomingMessage, { refusalBytesMax, refusalMs }: Limits): Promise<string> {
  if (!/^application\/(?:.+\+)?json$/.test(contentTypeOf(answer))) return ''
  const timer = setTimeout(() => answer.destroy(), refusalMs)
  try {
    const body = await text(readBody(answer, { peer: agentService, bytesMax: refusalBytesMax }))
    return clip(reasonIn(JSON.parse(body)), reasonCharsMax)
  } catch {
    return ''
  } finally {
    clearTimeout(timer)
  }
}

function reasonIn(body: unknown): string {
  if (typeof body !== 'object' || body === null) return ''
  const { error, message } = body as { message?: unknown; error?: unknown }
  if (typeof message === 'string' && message) return message
  return typeof error === 'string' ? error : reasonIn(error)
}
