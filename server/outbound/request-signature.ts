import { createHmac } from 'node:crypto'

// Signs requests to `http` agents and webhooks as specified by Standard Webhooks: https://www.standardwebhooks.com.

export type SignatureHeaders = { 'webhook-id': string; 'webhook-timestamp': string; 'webhook-signature': string }

export function signRequest(
  keys: readonly Buffer[],
  { id, body, at }: { id: string; body: string; at: Date },
): SignatureHeaders {
  const seconds = String(Math.floor(at.getTime() / 1000))
  const signed = keys.map(
    (key) => `v1,${createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64')}`,
  )
  return { 'webhook-id': id, 'webhook-timestamp': seconds, 'webhook-signature': signed.join(' ') }
}
