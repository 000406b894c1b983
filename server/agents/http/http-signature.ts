import { createHmac } from 'node:crypto'

// Requests to `http` agents are signed as Standard Webhooks are: https://www.standardwebhooks.com.

export type SignatureHeaders = { 'webhook-id': string; 'webhook-timestamp': string; 'webhook-signature': string }

/** The headers that vouch for this body, sent at that time under that id. */
export function signRequest(key: Buffer, { id, body, at }: { id: string; body: string; at: Date }): SignatureHeaders {
  const seconds = String(Math.floor(at.getTime() / 1000))
  const signature = createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64')
  return { 'webhook-id': id, 'webhook-timestamp': seconds, 'webhook-signature': `v1,${signature}` }
}
