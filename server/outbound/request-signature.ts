import { createHmac } from 'node:crypto'

// Requests to `http` agents and to webhooks are signed as Standard Webhooks has it: https://www.standardwebhooks.com.

export type SignatureHeaders = { 'webhook-id': string; 'webhook-timestamp': string; 'webhook-signature': string }

/** The headers that vouch for this body, sent at that time under that id; with a signature for each key. */
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
