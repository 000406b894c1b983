import { LineSplitter } from '../../kernel/line-splitter.ts'
import { megabytes } from '../../outbound/peer.ts'
import { AgentServiceError } from './http-failure.ts'

export const linesType = 'application/x-ndjson'

const decoder = new TextDecoder('utf-8', { fatal: true })

/** Yields the non-blank lines of a body. Services may send blank lines as keep-alives. */
export async function* readLines(chunks: AsyncIterable<Buffer>, lineBytesMax: number): AsyncGenerator<string> {
  const lines = new LineSplitter(lineBytesMax)
  let blankBytes = 0
  for await (const chunk of chunks) {
    for (const line of lines.split(chunk)) {
      const text = decode(line)
      if (text !== '') yield text
      else if ((blankBytes += line.length + 1) > lineBytesMax) {
        throw new AgentServiceError(
          `The agent's service sent more than ${megabytes(lineBytesMax)} of blank lines. Send fewer blank lines.`,
        )
      }
    }
    if (lines.isTooLong) {
      throw new AgentServiceError(
        `The agent's service sent a line of more than ${megabytes(lineBytesMax)}. Split it into shorter lines.`,
      )
    }
  }
  const last = decode(lines.rest)
  if (last !== '') yield last
}

/**
 * Parses the JSON object in a line and checks only its `type`. The other fields are validated later, as for all agent
 * kinds. If the type is `error`, throws the line's message.
 */
export function eventIn(line: string): { type?: unknown } {
  let event: unknown
  try {
    event = JSON.parse(line)
  } catch {
    throw new AgentServiceError("The agent's service sent a line that is not JSON. Send one JSON object per line.")
  }
  if (typeof event !== 'object' || event === null || Array.isArray(event)) {
    throw new AgentServiceError(
      "The agent's service sent a line that is not a JSON object. Send one JSON object per line.",
    )
  }
  const { message, type } = event as { type?: unknown; message?: unknown }
  if (type === 'error') {
    const hasReason = typeof message === 'string' && message !== ''
    throw new AgentServiceError(
      hasReason ? message : "The agent's service reported an error without a message. Check that service's log.",
    )
  }
  return event
}

function decode(line: Buffer): string {
  if (line.length === 0) return ''
  try {
    return decoder.decode(line).trim()
  } catch {
    throw new AgentServiceError("The agent's service sent a line that is not UTF-8. Encode its response in UTF-8.")
  }
}
