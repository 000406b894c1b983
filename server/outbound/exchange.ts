import { request, type IncomingMessage, type RequestOptions } from 'node:http'
import { codeOf } from '../kernel/thrown.ts'
import { megabytes, NoPublicHostError, seconds, unanswered, type Peer } from './peer.ts'

export type Exchange = Pick<RequestOptions, 'agent' | 'createConnection'> & {
  peer: Peer
  url: URL
  method: string
  /** Must not contain message-framing headers such as Content-Length. */
  headers: Record<string, string>
  body: string | Buffer | null
  /** Closes the connection at any stage. The promise then rejects with the abort reason. */
  signal: AbortSignal
  headMs?: number | undefined
}

/**
 * Sends a request without retries, and resolves with the response head, whatever its status. A caller that does not
 * read the whole body must destroy the response to close the connection.
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
    // Node does not pass `signal` to the agent, so pass it again under another name.
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
      fail(new peer.Failure(`The ${peer.name} did not start to respond within ${seconds(ms)}. Try again later.`))
      sent.destroy()
    }
    const timer = headMs === undefined ? undefined : setTimeout(onTime, headMs, headMs)
    // Without an `upgrade` listener, Node destroys the connection if the server switches protocols unasked.
    sent.once('response', resolve)
    sent.once('upgrade', resolve)
    // Keep this listener after the response head arrives. From then on, the body's reader reports errors, and `fail`
    // has no effect.
    sent.on('error', (error) => {
      if (error instanceof NoPublicHostError || error instanceof peer.Failure) return fail(error)
      const isGarbled = codeOf(error).startsWith('HPE_')
      fail(
        isGarbled
          ? new peer.Failure(`The ${peer.name} sent a response that is not HTTP. Check the URL.`)
          : unanswered(peer),
      )
    })
    sent.once('close', () => fail(unanswered(peer)))
    for (const event of ['response', 'upgrade', 'close']) sent.once(event, () => clearTimeout(timer))
    sent.end(body ?? undefined)
  })
}

export function expectUncompressed({ headers }: IncomingMessage, { Failure, name }: Peer): void {
  if ((headers['content-encoding'] ?? 'identity').trim().toLowerCase() !== 'identity') {
    throw new Failure(`The ${name} sent a compressed response. Turn off compression there.`)
  }
}

export type BodyRules = {
  peer: Peer
  bytesMax: number
  /** Error class for a body that is too large. Defaults to the peer's `Failure`. */
  TooLarge?: Peer['Failure']
}

export function expectSize({ headers }: IncomingMessage, rules: BodyRules): void {
  if (Number(headers['content-length'] ?? 0) > rules.bytesMax) throw tooLarge(rules)
}

/**
 * Yields the body as it arrives, with backpressure. Throws if the body exceeds `bytesMax` or the connection closes
 * early.
 */
export async function* readBody(answer: IncomingMessage, rules: BodyRules): AsyncGenerator<Buffer, undefined> {
  const { bytesMax, peer } = rules
  const brokenOff = () =>
    new peer.Failure(`The ${peer.name} closed the connection before its response was complete. Try again.`)
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
  return new TooLarge(`The ${peer.name} responded with more than ${megabytes(bytesMax)}. Return a smaller response.`)
}
