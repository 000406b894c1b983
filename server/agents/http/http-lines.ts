import { LineSplitter } from '../../kernel/line-splitter.ts'
import { megabytes } from '../../outbound/peer.ts'
import { AgentServiceError } from './http-failure.ts'

const decoder = new TextDecoder('utf-8', { fatal: true })

/** The lines of a body, blank ones left out: a service may send some to keep its connection open. */
export async function* readLines(chunks: AsyncIterable<Buffer>, lineBytesMax: number): AsyncGenerator<string> {
  const lines = new LineSplitter(lineBytesMax)
  let blankBytes = 0
  for await (const chunk of chunks) {
    for (const line of lines.split(chunk)) {
      const text = decode(line)
      if (text !== '') yield text
      else if ((blankBytes += line.length + 1) > lineBytesMax) {
        throw new AgentServiceError(`The agent's service sent more than ${megabytes(lineBytesMax)} of blank lines.`)
      }
    }
    if (lines.isTooLong) {
      throw new AgentServiceError(`The agent's service sent a line of more than ${megabytes(lineBytesMax)}.`)
    }
  }
  const last = decode(lines.rest)
  if (last !== '') yield last
}

function decode(line: Buffer): string {
  if (line.length === 0) return ''
  try {
    return decoder.decode(line).trim()
  } catch {
    throw new AgentServiceError("The agent's service sent a line that is not UTF-8.")
  }
}
