import type { OwnedPayload } from '../../store/tasks/task-types.ts'
import { pipeline } from 'node:stream/promises'
import { ErrandError } from '../../kernel/errors.ts'
import { FairPlaces } from '../../kernel/fair-places.ts'
import { checkedChunks, PayloadDamage } from '../../payloads/payload-digest.ts'
import type { PayloadStore } from '../../payloads/payload-store.ts'
import type { SignedLinks } from '../../payloads/signed-links.ts'
import type { Store } from '../../store/store.ts'
import { jsonType } from '../respond.ts'
import type { RoutedRequest } from '../routed-request.ts'

/**
 * Limits concurrent downloads. With a slow client, each takes up to three megabytes of memory, plus an open file if
 * payloads are stored as files.
 */
const downloads = new FairPlaces({ perUser: 24 })

type PayloadDownload = { links: SignedLinks; payloads: PayloadStore; store: Store }

/**
 * Serves a payload to anyone with its signed link. Responds with 403 if the link is invalid or expired. A damaged
 * payload is never sent completely: the connection is closed early, and the error is logged.
 */
export async function servePayload(
  { links, payloads, store }: PayloadDownload,
  { headers, path, query, request, response }: RoutedRequest,
): Promise<void> {
  // Use the id as it was sent, because malformed ids have no signed links.
  const payloadId = path.slice(path.lastIndexOf('/') + 1)
  const parameters = new URLSearchParams(query)
  const [expires, ...moreExpires] = parameters.getAll('expires')
  const [signature, ...moreSignatures] = parameters.getAll('signature')
  const isValid =
    expires !== undefined &&
    signature !== undefined &&
    moreExpires.length + moreSignatures.length === 0 &&
    links.isValid({ payloadId, expires, signature })
  if (!isValid) {
    throw new ErrandError(
      'FORBIDDEN',
      'The link is invalid or has expired. Request the task or the messages again to get a new link.',
    )
  }
  const record = await store.findPayload(payloadId)
  const found = record && (await payloads.openStream(payloadId))
  if (!found)
    throw new ErrandError('NOT_FOUND', 'The payload no longer exists. Create the task or send the file again.')
  const { digest } = record
  if (digest && digest.bytes !== found.bytes) throw new PayloadDamage(payloadId)
  // Payloads never change, so the id serves as the ETag.
  const etag = `"${payloadId}"`
  const tagged = [...headers, 'ETag', etag, 'Cache-Control', 'private, max-age=0, must-revalidate']
  if (request.headers['if-none-match']?.includes(etag)) {
    response.writeHead(304, tagged).end()
    return
  }
  tagged.push('Content-Type', record.mediaType ?? jsonType, 'Content-Length', String(found.bytes))
  // Force a download, so that browsers never display the content as a page of the service.
  tagged.push('Content-Disposition', `attachment; ${filenameOf(record)}`)
  if (request.method === 'HEAD') return void response.writeHead(200, tagged).end()
  const place = downloads.open(record.userId ?? '')
  if (place.hold(1)) {
    const message = `This account already has ${downloads.perUser} payload downloads in progress, the maximum. Retry when one has ended.`
    throw new ErrandError('SERVICE_UNAVAILABLE', message, { retryAfterSeconds: 1 })
  }
  const chunks = checkedChunks(found.stream(), { payloadId, digest })
  try {
    // Read one chunk before sending the headers. If that chunk is damaged, the response can still be a 500. A small
    // payload has only one chunk.
    const first = await chunks.next()
    response.writeHead(200, tagged)
    await pipeline(join(first, chunks), response)
  } catch (error) {
    if (!response.headersSent) throw error
    response.destroy()
    // A disconnected client is not an error.
    if (error instanceof PayloadDamage || error instanceof ErrandError) throw error
  } finally {
    // Closes the file if the client disconnected before the end.
    await chunks.return()
    place.release()
  }
}

function filenameOf({ filename, id, mediaType }: OwnedPayload): string {
  if (mediaType === null) return `filename="${id}.json"`
  if (filename === null) return `filename="${id}"`
  // RFC 6266 defines both parameters. Old clients read the first one.
  const encoded = encodeURIComponent(filename).replace(/['()*]/g, (one) => `%${one.charCodeAt(0).toString(16)}`)
  return `filename="${filename.replace(/[^\x20-\x7e]|["%\\]/gu, '_')}"; filename*=UTF-8''${encoded}`
}

async function* join(first: IteratorResult<Buffer, void>, rest: AsyncGenerator<Buffer, void>): AsyncGenerator<Buffer> {
  if (!first.done) yield first.value
  yield* rest
}
