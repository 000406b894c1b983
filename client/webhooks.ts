import { ErrandClientError, invalidArgument } from './client-error.ts'

type EventOf<Type extends string, Data> = {
  /** Ignore types that you do not know, because more may be added. */
  type: Type
  /** When the event happened, in ISO 8601. */
  timestamp: string
  /** Id of the user that the event is about. Set only for the webhooks of a platform key. */
  userId?: string
  /** Your product's id for the user, or null if there is none. Set only for the webhooks of a platform key. */
  externalId?: string | null
  /** Contains only ids, states, codes and amounts. Fetch the objects themselves from the service. */
  data: Data
}
/** `refundedUsd` is the amount returned to the balance. */
type EndedTaskData = { taskId: string; agentId: string; endpointId: string; costUsd: string; refundedUsd: string }

export type WebhookEvent =
  | EventOf<'task.completed', EndedTaskData & { status: 'completed' }>
  | EventOf<'task.failed', EndedTaskData & { status: 'failed'; errorCode: string }>
  | EventOf<
      'chat.settled',
      {
        turnId: string
        sessionId: string
        agentId: string
        outcome: 'finished' | 'truncated' | 'failed'
        costUsd: string
      }
    >
  | EventOf<'credit.added', { transactionId: string; amountUsd: string; balanceUsd: string }>
  | EventOf<'session.expired', { sessionId: string; agentId: string }>
  /** Sent when a key's limit rejects the first request in a period. `resetsAt` is null if the period has no end. */
  | EventOf<'key.limit_reached', { keyId: string; limitUsd: string; resetsAt: string | null }>
  /**
   * Sent once when the balance falls below the threshold. Sent again only after a credit has raised the balance to the
   * threshold, or after the threshold was changed.
   */
  | EventOf<'balance.low', { balanceUsd: string; notifyBelowUsd: string }>
  | EventOf<'payment.succeeded', { topupId: string; amountUsd: string }>
  /** `reason` comes from the payment provider. */
  | EventOf<'payment.failed', { topupId: string; amountUsd: string; reason: string }>
  /** `refundedUsd` is the total refunded so far. `owedUsd` is the part that the balance could not cover. */
  | EventOf<'payment.refunded', { topupId: string; amountUsd: string; refundedUsd: string; owedUsd: string }>
  /** `disputedUsd` returns to 0 if the dispute is won. */
  | EventOf<'payment.disputed', { topupId: string; amountUsd: string; disputedUsd: string; owedUsd: string }>
  | EventOf<'webhook.test', { webhookId: string }>

export type UnwrapOptions = {
  /**
   * Maximum difference between the request's timestamp and this machine's clock. An attacker can replay a request for
   * that long. Defaults to 300.
   */
  toleranceSeconds?: number
}

/** Request headers, from a web `Request` or from Node. */
export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>

const toleranceSecondsDefault = 300
/** Limits on untrusted input. A request has two signatures while the secret is being rotated. */
const signaturesMax = 10
const secretsMax = 10

/**
 * Verifies a webhook request and returns its event. Throws INVALID_SIGNATURE unless the request is signed with your
 * secret as in Standard Webhooks and is at most five minutes old. Throws INVALID_ARGUMENT for an invalid secret. A
 * request may arrive twice, with the same `webhook-id`.
 *
 * @param body the raw body as received, because a parsed and reserialized body may differ from the signed one
 * @param secrets one or more secrets that start with `whsec_`. During a rotation pass both; one must match
 *
 * @example
 * const event = await webhooks.unwrap(await request.text(), request.headers, secret)
 * if (event.type === 'task.completed') await fetchResult(event.data.taskId)
 */
export async function unwrap<Event = WebhookEvent>(
  body: string | Uint8Array | ArrayBuffer,
  headers: WebhookHeaders,
  ...[secrets, { toleranceSeconds = toleranceSecondsDefault } = {}]: [
    secrets: string | readonly string[],
    options?: UnwrapOptions,
  ]
): Promise<Event> {
  const keys = await importSecrets(secrets)
  const [id, timestamp, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) =>
    readHeader(headers, name),
  ) as [string, string, string]
  if (!/^\d{1,12}$/.test(timestamp))
    throw refused('the header webhook-timestamp is not a time in seconds. Pass the headers unchanged')
  if (!(Math.abs(Date.now() - Number(timestamp) * 1000) <= toleranceSeconds * 1000)) {
    throw refused(
      `the header webhook-timestamp differs from the current time by more than ${describeSeconds(toleranceSeconds)}. Check the clock`,
    )
  }
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : new Uint8Array(body)
  const head = new TextEncoder().encode(`${id}.${timestamp}.`)
  const signed = new Uint8Array(head.length + bytes.length)
  signed.set(head)
  signed.set(bytes, head.length)
  if (!(await isSigned(keys, signed, signatures)))
    throw refused('no signature matches. Pass the unparsed body and the current secret')
  try {
    return JSON.parse(new TextDecoder().decode(bytes)) as Event
  } catch (cause) {
    throw new ErrandClientError(
      'BAD_RESPONSE',
      "The webhook's signature is valid, but its body is not JSON. Check its sender.",
      { cause },
    )
  }
}

export const webhooks = { unwrap }

async function isSigned(
  keys: readonly CryptoKey[],
  signed: Uint8Array<ArrayBuffer>,
  signatures: string,
): Promise<boolean> {
  // Skip other signature versions, which use other kinds of keys.
  const given = signatures.split(' ').filter((signature) => signature.startsWith('v1,'))
  for (const signature of given.slice(0, signaturesMax)) {
    const bytes = decodeBase64(signature.slice(3))
    if (!bytes) continue
    for (const key of keys) {
      // `verify` compares in constant time.
      if (await crypto.subtle.verify('HMAC', key, bytes, signed)) return true
    }
  }
  return false
}

function describeSeconds(seconds: number): string {
  return seconds === toleranceSecondsDefault ? 'five minutes' : `${seconds} seconds`
}

async function importSecrets(secrets: string | readonly string[]): Promise<CryptoKey[]> {
  const all = Array.isArray(secrets) ? (secrets as readonly string[]) : [secrets as string]
  if (all.length === 0 || all.length > secretsMax) {
    throw invalidArgument('secret', `Must be the webhook's secret or an array of 1 to ${secretsMax} secrets`)
  }
  return await Promise.all(all.map(importSecret))
}

async function importSecret(secret: string): Promise<CryptoKey> {
  const bytes = typeof secret === 'string' ? decodeBase64(secret.replace(/^whsec_/, '')) : undefined
  // Never quote the secret, because errors are often logged.
  if (!bytes || bytes.length === 0)
    throw invalidArgument('secret', "Must be the webhook's secret: whsec_ followed by base64")
  return await crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify'])
}

function readHeader(headers: WebhookHeaders, name: string): string {
  const value = isHeaders(headers) ? headers.get(name) : findHeader(headers, name)
  if (typeof value !== 'string' || value === '')
    throw refused(`the header ${name} is missing. Pass all headers of the request`)
  return value
}

/** Checks for the method instead of the class, because frameworks have their own Headers classes. */
function isHeaders(headers: WebhookHeaders): headers is Headers {
  return typeof headers.get === 'function'
}

function findHeader(headers: Exclude<WebhookHeaders, Headers>, name: string): unknown {
  const key = Object.keys(headers).find((key) => key.toLowerCase() === name)
  const value = key === undefined ? undefined : headers[key]
  return Array.isArray(value) && value.length === 1 ? value[0] : value
}

function decodeBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
  } catch {
    return undefined
  }
}

function refused(why: string): ErrandClientError {
  return new ErrandClientError('INVALID_SIGNATURE', `The webhook was rejected: ${why}.`)
}
