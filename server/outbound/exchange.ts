import { request, type IncomingMessage, type RequestOptions } from 'node:http'
import { codeOf } from '../kernel/thrown.ts'
import { megabytes, NoPublicHostError, seconds, unanswered, type Peer } from './peer.ts'

export type Exchange = Pick<RequestOptions, 'agent' | 'createConnection'> & {
  peer: Peer
  url: URL
  method: string
  /** Without those that frame the message. */
  headers: Record<string, string>
  body: string | Buffer | null
  /** Closes the connection in every phase; its reason is thrown. */
  signal: AbortSignal
  /** From the request until the head of its answer. */
  headMs?: number | undefined
}

/**
 * Sends a request once, whatever becomes of it, and resolves with the head of its answer, whatever its status. Who does
 * not read the answer to its end destroys it, which closes the connection.
 */
export function exchange({
  body,
  headers,
  headMs,
  method,
  peer,
  signal,
  url,
  ...via
}: Exchange): Promise<IncomingMessage> {
  const options = {
    ...via,
    signal,
    // Once more, as Node keeps the signal from the agent.
    stop: signal,
    method,
    path: url.pathname + url.search,
    headers: {
      'user-agent': 'errand',
      ...headers,
      host: url.host,
      'accept-encoding': 'identity',
      ...((body !== null || method === 'POST') && { 'content-length': Buffer.byteLength(body ?? '') }),
    },
  }
  return new Promise((resolve, reject) => {
    const fail = (error: Error) => reject(signal.aborted ? signal.reason : error)
    const sent = request(options)
    const onTime = (ms: number) => {
      fail(new peer.Failure(`The ${peer.name} did not begin to answer within ${seconds(ms)}.`))
      sent.destroy()
    }
    const timer = headMs === undefined ? undefined : setTimeout(onTime, headMs, headMs)
    // With a listener for it, an upgrade that nobody asked for is an answer like any other.
    sent.once('response', resolve)
    sent.once('upgrade', resolve)
    // Stays for good, as an error that comes after the head belongs to the body, which reports it itself.
    sent.on('error', (error) => {
      if (error instanceof NoPublicHostError || error instanceof peer.Failure) return fail(error)
      const isGarbled = codeOf(error).startsWith('HPE_')
      fail(isGarbled ? new peer.Failure(`The ${peer.name} answered with something other than HTTP.`) : unanswered(peer))
    })
    sent.once('close', () => fail(unanswered(peer)))
    for (const event of ['response', 'upgrade', 'close']) sent.once(event, () => clearTimeout(timer))
    sent.end(body ?? undefined)
  })
}

/** Throws for a body that is not as it was asked for. */
export function expectUncompressed({ headers }: IncomingMessage, { Failure, name }: Peer): void {
  if ((headers['content-encoding'] ?? 'identity').trim().toLowerCase() !== 'identity') {
    throw new Failure(`The ${name} compressed its answer, which it was not asked to.`)
  }
}

export type BodyRules = {
  peer: Peer
  bytesMax: number
  /** Thrown for a body above `bytesMax`; by default as for any other failure of the peer. */
  TooLarge?: Peer['Failure']
}

/** Throws for a body that says beforehand that it has more than so many bytes. */
export function expectSize({ headers }: IncomingMessage, rules: BodyRules): void {
  if (Number(headers['content-length'] ?? 0) > rules.bytesMax) throw tooLarge(rules)
}

/**
 * The body as it comes, read from the connection only as it is taken. Throws when it has more than so many bytes, or
 * the connection ends before it does.
 */
export async function* readBody(answer: IncomingMessage, rules: BodyRules): AsyncGenerator<Buffer, undefined> {
  const { bytesMax, peer } = rules
  const brokenOff = () => new peer.Failure(`The ${peer.name} closed the connection before its answer was complete.`)
  let bytes = 0
  try {
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > bytesMax) break
      yield chunk
    }
  } catch {
    throw brokenOff()
  }
  if (bytes > bytesMax) throw tooLarge(rules)
  if (!answer.complete) throw brokenOff()
}

function tooLarge({ bytesMax, peer, TooLarge = peer.Failure }: BodyRules): Error {
  return new TooLarge(`The ${peer.name} answered with more than ${megabytes(bytesMax)}.`)
}
