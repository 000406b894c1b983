import type { ClientFetch } from './connection.ts'
import { badResponse, isRecord, networkError, parseJson } from './odd-answer.ts'

/** An answer that the RPC links can read, with the headers that errors quote. */
export class RpcAnswer {
  readonly ok: boolean
  readonly requestId: string | undefined
  readonly #value: unknown

  constructor({ ok, headers }: Response, value: unknown) {
    this.ok = ok
    this.requestId = headers.get('x-request-id') ?? undefined
    this.#value = value
  }

  json(): Promise<unknown> {
    return Promise.resolve(this.#value)
  }
}

/**
 * Fetches what must be an answer of the service's RPC. Throws NETWORK_ERROR when there is none, and BAD_RESPONSE for
 * everything else that may come instead: a proxy's page, another program's JSON, half an answer, a redirect.
 */
export async function fetchRpc(fetch: ClientFetch, url: string, init: RequestInit): Promise<RpcAnswer> {
  let response: Response
  let text: string
  try {
    // A redirect that is followed would lose the key or turn a POST into a GET, each far from its cause.
    response = await fetch(url, { ...init, redirect: 'manual' })
    text = await response.text()
  } catch (cause) {
    throw networkError(cause)
  }
  const value = parseJson(text)
  if (isRpcAnswer(value)) return new RpcAnswer(response, value)
  throw badResponse(response, value)
}

/** One result or error, or a batch of them, as the superjson transformer writes them. */
function isRpcAnswer(value: unknown): boolean {
  const items: readonly unknown[] = Array.isArray(value) ? value : [value]
  return items.every((item) => {
    if (!isRecord(item)) return false
    const { error, result } = item
    return isRecord(error) ? isRecord(error['json']) : isRecord(result) && isRecord(result['data'])
  })
}
