import { megabytes } from '../outbound/peer.ts'
import { AgentServiceError } from './http-failure.ts'

const newline = 0x0a
const decoder = new TextDecoder('utf-8', { fatal: true })

/**
 * The lines of a body, blank ones left out. They are split as bytes, so that a character may span two chunks, and a
 * line that comes in many chunks is joined once.
 */
export async function* readLines(chunks: AsyncIterable<Buffer>, lineBytesMax: number): AsyncGenerator<string> {
  let begun: Buffer[] = []
  let begunBytes = 0
  const add = (piece: Buffer) => {
    begunBytes += piece.length
    if (begunBytes > lineBytesMax) {
      throw new AgentServiceError(`The agent's service sent a line of more than ${megabytes(lineBytesMax)}.`)
    }
    begun.push(piece)
  }
  const take = (): string => {
    const line = decode(begun.length === 1 ? begun[0]! : Buffer.concat(begun))
    begun = []
    begunBytes = 0
    return line
  }
  for await (const chunk of chunks) {
    let from = 0
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, from)) {
      add(chunk.subarray(from, end))
      from = end + 1
      const line = take()
      if (line !== '') yield line
    }
    if (from < chunk.length) add(chunk.subarray(from))
  }
  const last = take()
  if (last !== '') yield last
}

function decode(line: Buffer): string {
  try {
    return decoder.decode(line).trim()
  } catch {
    throw new AgentServiceError("The agent's service sent a line that is not UTF-8.")
  }
}
