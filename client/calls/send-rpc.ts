import { ErrandClientError, invalidArgument } from '../client-error.ts'
import type { Connection } from '../connection.ts'
import { badResponse, isRecord, networkError, parseJson, responseFields } from '../odd-answer.ts'

export type RpcRequest = {
  operation: string
  isQuery: boolean
  input: unknown
  idempotencyKey?: string | undefined
  /**
   * Whether the call gets a separate request instead of joining a batch. Set for long polls, because a batch responds
   * only when its slowest call has finished.
   */
  isAlone?: boolean | undefined
  signal: AbortSignal
}

export type RpcAnswer = {
  data: unknown
  status: number
  headers: Headers
  requestId: string | undefined
}

export type SendRpc = (request: RpcRequest) => Promise<RpcAnswer>

type Waiting = {
  operation: string
  json: string
  signal: AbortSignal
  resolve: (answer: RpcAnswer) => void
  reject: (reason: unknown) => void
}

/** Maximum number of calls that the service accepts in one batch. */
const batchMax = 20
// Far below the limits of servers and proxies, but enough for a full batch of ordinary reads.
const urlLengthMax = 4000
const inputLengthMax = 1000

/**
 * Sends calls to the service's RPC. Reads made in the same tick share one request. Each change gets a separate request,
 * because an Idempotency-Key header applies to one call.
 */
export function createSendRpc(connection: Connection): SendRpc {
  const { baseUrl } = connection
  let waiting: Waiting[] = []

  const flush = () => {
    const all = waiting.filter(({ signal }) => !signal.aborted)
    waiting = []
    for (let batch: Waiting[] = []; all.length > 0; batch = []) {
      do batch.push(all.shift()!)
      while (all[0] && batch.length < batchMax && batchUrl([...batch, all[0]]).length <= urlLengthMax)
      void sendBatch(batch)
    }
  }

  const batchUrl = (batch: readonly Waiting[]) => {
    const inputs = `{${batch.map(({ json }, index) => `"${index}":${json}`).join(',')}}`
    const operations = batch.map(({ operation }) => operation).join(',')
    return `${baseUrl}/trpc/${operations}?batch=1&input=${encodeURIComponent(inputs)}`
  }

  const sendBatch = async (batch: readonly Waiting[]) => {
    const controller = new AbortController()
    // Abort only if every call in the batch is aborted, because the others are still waiting.
    const onAbort = () => batch.every(({ signal }) => signal.aborted) && controller.abort()
    for (const { signal } of batch) signal.addEventListener('abort', onAbort, { once: true })
    try {
      const answer = await fetchRpc(connection, batchUrl(batch), { signal: controller.signal })
      for (const [index, { operation, resolve, reject }] of batch.entries()) {
        try {
          resolve(readItem(answer, index, operation))
        } catch (error) {
          reject(error)
        }
      }
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }

  return async ({ operation, isQuery, input, idempotencyKey, isAlone, signal }) => {
    const json = `{"json":${toJson(input)}}`
    // If an input is too long for a batch, send it in a separate request.
    if (isQuery && !isAlone && json.length <= inputLengthMax) {
      return await new Promise((resolve, reject) => {
        if (waiting.push({ operation, json, signal, resolve, reject }) === 1) setTimeout(flush)
      })
    }
    const url = `${baseUrl}/trpc/${operation}`
    const answer = isQuery
      ? await fetchRpc(connection, `${url}?input=${encodeURIComponent(json)}`, { signal })
      : await fetchRpc(connection, url, {
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
          },
          body: json,
          signal,
        })
    return readItem(answer, 0, operation)
  }
}

/**
 * Serializes the input as plain JSON. Throws INVALID_ARGUMENT for values that JSON cannot represent, such as a cycle or
 * a bigint. The service stores params as JSON, so a date must become a string over RPC, as it does over REST.
 */
export function toJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? 'null'
  } catch (error) {
    throw invalidArgument(
      'input',
      `Must be serializable as JSON: ${error instanceof Error ? error.message : String(error)}`,
    )
  }
}

/**
 * Fetches an RPC response. Throws NETWORK_ERROR if there is none. Throws BAD_RESPONSE if it is not the service's: a
 * proxy's page, another program's JSON, a truncated response, a redirect.
 */
async function fetchRpc({ fetch, headers }: Connection, url: string, init: RequestInit) {
  let response: Response
  let text: string
  try {
    response = await fetch(url, {
      ...init,
      headers: { ...headers, ...(init.headers as Record<string, string>) },
      // Following a redirect could lose the key or turn a POST into a GET, and hide the cause.
      redirect: 'manual',
    })
    text = await response.text()
  } catch (cause) {
    throw networkError(cause)
  }
  const value = parseJson(text)
  const items: readonly unknown[] = Array.isArray(value) ? value : [value]
  if (!items.every(isRpcItem)) throw badResponse(response, value)
  // A batch that is rejected as a whole has a single error for all of its calls.
  const itemAt = (index: number) => (Array.isArray(value) ? items[index] : items[0])
  return { itemAt, response }
}

function isRpcItem(item: unknown): boolean {
  if (!isRecord(item)) return false
  const { error, result } = item
  return isRecord(error) ? isRecord(error['json']) : isRecord(result) && isRecord(result['data'])
}

type Fetched = Awaited<ReturnType<typeof fetchRpc>>
type RpcError = { message?: unknown; data?: unknown }

function readItem({ itemAt, response }: Fetched, index: number, operation: string): RpcAnswer {
  const item = itemAt(index) as { error?: { json: RpcError }; result: { data: { json: unknown } } } | undefined
  const fields = responseFields(response)
  if (item?.error) throw toError(item.error.json, operation, fields)
  if (!item)
    throw new ErrandClientError('BAD_RESPONSE', "Could not read the service's response. Check baseUrl.", fields)
  return {
    data: item.result.data.json,
    status: response.status,
    headers: response.headers,
    requestId: fields.requestId,
  }
}

function toError({ message, data }: RpcError, operation: string, fields: ReturnType<typeof responseFields>) {
  const { errorCode, httpStatus, details, retryAfterSeconds } = (isRecord(data) ? data : {}) as {
    [field: string]: never
  }
  if (typeof errorCode !== 'string' || typeof message !== 'string') {
    return new ErrandClientError('BAD_RESPONSE', "Could not read the service's response. Check baseUrl.", fields)
  }
  const isMissing = errorCode === 'NOT_FOUND' && message === 'This operation does not exist. Check its name.'
  const text = isMissing
    ? `The service does not have the operation ${operation}. It may be older than this client, so update the service.`
    : message
  const requestId = fields.requestId
  return new ErrandClientError(errorCode, text, { status: httpStatus, details, retryAfterSeconds, requestId })
}
