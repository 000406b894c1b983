import { request, type IncomingMessage, type RequestOptions } from 'node:http'
import { codeOf } from '../kernel/thrown.ts'
import { megabytes, NoPublicHostError, seconds, unanswered, type Peer } from './peer.ts'

export type Exchange = Pick<RequestOptions, 'agent' | 'createConnection'> & {
  peer: Peer
  url: URL
  method: string
  /** Without message-framing headers. */
  headers: Record<string, string>
  body: string | Buffer | null
  /** Closes the connection at any stage. The signal's reason is then thrown. */
  signal: AbortSignal
  /** Time limit from the request to the response head. */
  headMs?: number | undefined
}

/**
 * Sends a request once, even if it fails, and resolves with the response head, whatever its status. A caller that does
 * not read the body to its end must destroy the response, which closes the connection.
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
    // Node does not pass `signal` on to the agent, so it is passed again under another name.
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
      fail(new peer.Failure(`The ${peer.name} did not start to answer within ${seconds(ms)}.`))
      sent.destroy()
    }
    const timer = headMs === undefined ? undefined : setTimeout(onTime, headMs, headMs)
    // With an `upgrade` listener, an unrequested upgrade counts as an ordinary response.
    sent.once('response', resolve)
    sent.once('upgrade', resolve)
    // This listener stays attached. An error after the response head belongs to the body, whose reader reports it.
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

/** Throws if the body is compressed although the request asked for `identity`. */
export function expectUncompressed({ headers }: IncomingMessage, { Failure, name }: Peer): void {
  if ((headers['content-encoding'] ?? 'identity').trim().toLowerCase() !== 'identity') {
    throw new Failure(`The ${name} compressed its answer, although the request did not allow compression.`)
  }
}

export type BodyRules = {
  peer: Peer
  bytesMax: number
  /** Error class for a body above `bytesMax`; defaults to the peer's `Failure`. */
  TooLarge?: Peer['Failure']
}

/** Throws if the declared content length exceeds `bytesMax`. */
export function expectSize({ headers }: IncomingMessage, rules: BodyRules): void {
  if (Number(headers['content-length'] ?? 0) > rules.bytesMax) throw tooLarge(rules)
}

/**
 * Yields the body as it arrives, reading from the connection only on demand. Throws if it exceeds `bytesMax` or the
 * connection ends early.
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
