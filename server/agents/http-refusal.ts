import type { HttpAnswer } from './http-exchange.ts'
import { AgentServiceError } from './http-failure.ts'
import type { HttpLimits } from './http-service.ts'

type Limits = Pick<HttpLimits, 'refusalBytesMax' | 'refusalMs'>

const reasonCharsMax = 1000

/** Throws unless the answer is 200 with a body of that type, as it stands; what a refusal says for itself is quoted. */
export async function expectOk(answer: HttpAnswer, contentType: string, limits: Limits): Promise<void> {
  const { status } = answer
  if (status >= 300 && status < 400 && status !== 304) {
    throw new AgentServiceError(`The agent's service answered ${status}, and redirects are not followed.`)
  }
  if (status !== 200) {
    const reason = await readReason(answer, limits)
    throw new AgentServiceError(`The agent's service answered ${status}${reason ? `: ${reason}` : '.'}`)
  }
  const encoding = answer.header('content-encoding')?.toLowerCase() ?? 'identity'
  if (encoding !== 'identity') {
    throw new AgentServiceError("The agent's service compressed its answer, which it was not asked to.")
  }
  if (answer.contentType !== contentType) {
    const type = answer.contentType ? `the content type ${clip(answer.contentType, 100)}` : 'no content type'
    throw new AgentServiceError(`The agent's service answered with ${type} instead of ${contentType}.`)
  }
}

/** The `message` or `error` of a body of JSON; nothing when there is no such thing, or it does not come soon. */
async function readReason(answer: HttpAnswer, { refusalBytesMax, refusalMs }: Limits): Promise<string> {
  if (!/^application\/(?:.+\+)?json$/.test(answer.contentType)) return ''
  const timer = setTimeout(() => answer.close(), refusalMs)
  try {
    const chunks: Buffer[] = []
    let bytes = 0
    for await (const chunk of answer.chunks()) {
      bytes += chunk.length
      if (bytes > refusalBytesMax) return ''
      chunks.push(chunk)
    }
    return clip(reasonIn(JSON.parse(Buffer.concat(chunks).toString())), reasonCharsMax)
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

function clip(text: string, charsMax: number): string {
  return text.length <= charsMax ? text : `${text.slice(0, charsMax).toWellFormed()}…`
}
