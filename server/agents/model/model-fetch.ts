import { FairPlaces } from '../../kernel/fair-places.ts'
import { exchange, readBody } from '../../outbound/exchange.ts'
import { KeptConnections } from '../../outbound/kept-connections.ts'
import { lookupsPerUserMax, type Peer } from '../../outbound/peer.ts'

const peer: Peer = { name: "model's provider", isOperators: true, Failure: Error }
const connectMs = 10_000
const bytesMax = 64 * 1024 * 1024
/** DNS lookups are not limited per user, because the operator chose the hosts. */
const lookups = { userId: '', places: new FairPlaces({ perUser: lookupsPerUserMax }) }
/** Connection pools by origin. Each thread has its own. */
const origins = new Map<string, KeptConnections>()

/** A `fetch` implementation for the model provider URLs in the configuration. Does not follow redirects. */
export const modelFetch: typeof fetch = async (input, init) => {
  const request = new Request(input, init)
  const url = new URL(request.url)
  const { signal } = request
  const agent =
    origins.get(url.origin) ?? new KeptConnections({ peer, url, isPrivateAllowed: true, connectMs, lookups })
  origins.set(url.origin, agent)
  const body = Buffer.from(await request.arrayBuffer())
  const headers = Object.fromEntries(request.headers)
  const sent = { peer, url, agent, method: request.method, headers, body, signal }
  const answer = await exchange(sent).catch((error: unknown) => {
    // The AI SDK retries only errors that look like those of the global `fetch`.
    throw signal.aborted ? error : new TypeError('fetch failed', { cause: error })
  })
  const chunks = readBody(answer, { peer, bytesMax })
  const stop = () => void answer.destroy()
  signal.addEventListener('abort', stop, { once: true })
  const content = new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        try {
          const { value } = await chunks.next()
          if (value) return controller.enqueue(new Uint8Array(value))
          signal.removeEventListener('abort', stop)
          controller.close()
        } catch (error) {
          // The AI SDK treats an error with this code as a lost connection.
          throw signal.aborted ? signal.reason : Object.assign(error as Error, { code: 'ECONNRESET' })
        }
      },
      cancel: stop,
    },
    { highWaterMark: 0 },
  )
  const given = Object.entries(answer.headersDistinct).flatMap(([name, values = []]) =>
    values.map((value): [string, string] => [name, value]),
  )
  const isEmpty = answer.statusCode === 204 || answer.statusCode === 205 || answer.statusCode === 304
  if (isEmpty) answer.resume()
  return new Response(isEmpty ? null : content, { status: answer.statusCode!, headers: given })
}
