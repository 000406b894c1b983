import { pipeline } from 'node:stream/promises'
import { ErrandError } from '../kernel/errors.ts'
import type { PayloadStore } from '../payloads/payload-store.ts'
import type { SignedLinks } from '../payloads/signed-links.ts'
import type { RoutedRequest } from './routed-request.ts'

type PayloadDownload = { links: SignedLinks; payloads: PayloadStore }
type Download = RoutedRequest & { payloadId: string }

/** Serves a stored payload to whoever holds its signed link; 403 when the link is wrong or has expired. */
export async function servePayload(
  { links, payloads }: PayloadDownload,
  { headers, request, response, payloadId, query }: Download,
): Promise<void> {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    throw new ErrandError('METHOD_NOT_ALLOWED', `${request.method} is not allowed here.`, {
      allow: 'GET, HEAD, OPTIONS',
    })
  }
  const parameters = new URLSearchParams(query)
  const [expires, ...moreExpires] = parameters.getAll('expires')
  const [signature, ...moreSignatures] = parameters.getAll('signature')
  const isValid =
    expires !== undefined &&
    signature !== undefined &&
    moreExpires.length + moreSignatures.length === 0 &&
    links.isValid({ payloadId, expires, signature })
  if (!isValid) {
    throw new ErrandError('FORBIDDEN', 'The link is invalid or has expired; read the task again for a new one.')
  }
  const found = await payloads.openStream(payloadId)
  if (!found) throw new ErrandError('NOT_FOUND', 'The payload no longer exists.')
  // A payload never changes, so its id says all that a tag has to.
  const etag = `"${payloadId}"`
  headers.push(
    'ETag',
    etag,
    'Cache-Control',
    'private, max-age=0, must-revalidate',
    'X-Content-Type-Options',
    'nosniff',
  )
  if (request.headers['if-none-match']?.includes(etag)) {
    response.writeHead(304, headers).end()
    return
  }
  headers.push('Content-Type', 'application/json; charset=utf-8', 'Content-Length', String(found.bytes))
  headers.push('Content-Disposition', `attachment; filename="${payloadId}.json"`)
  response.writeHead(200, headers)
  if (request.method === 'HEAD') return void response.end()
  // A reader that leaves is no error.
  await pipeline(found.stream(), response).catch(() => response.destroy())
}
