import { ErrandClientError, invalidArgument } from '../client-error.ts'
import type { Connection } from '../connection.ts'
import { badResponse, isRecord, networkError, parseJson, responseFields } from '../odd-answer.ts'

export type RpcRequest = {
  operation: string
  isQuery: boolean
  /** Plain JSON. */
  input: unknown
  idempotencyKey?: string | undefined
  /** Long polls: in a batch, an answer waits for the slowest. */
  isAlone?: boolean | undefined
  signal: AbortSignal
}

/** What a call answered, and the head of the HTTP answer that it came with. */
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

/** The most calls that the service takes in one batch. */
const batchMax = 20
// Far below what servers and proxies take, and more than a full batch of ordinary reads needs.
const urlLengthMax = 4000
const inputLengthMax = 1000

/**
 * Sends calls to the service's RPC. Reads that are made in the same tick go in one request; calls that change something
 * go alone, because an Idempotency-Key header is about one of them.
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
    // Whoever waits for the others of the batch must not lose them.
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
    // A batch cannot hold an input that is too long for its URL; alone, the service says what is wrong with it.
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
 * JSON as it is sent. Throws INVALID_ARGUMENT for what JSON cannot hold, such as a circle or a bigint. Plain JSON it is
 * because the service stores params as JSON and they must mean the same as over REST, where a date is its text.
 */
export function toJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? 'null'
  } catch (error) {
    throw invalidArgument('input', `Must be JSON: ${error instanceof Error ? error.message : String(error)}`)
  }
}

/**
 * Fetches what must be an answer of the service's RPC. Throws NETWORK_ERROR when there is none, and BAD_RESPONSE for
 * everything else that may come instead: a proxy's page, another program's JSON, half an answer, a redirect.
 */
async function fetchRpc({ fetch, headers }: Connection, url: string, init: RequestInit) {
  let response: Response
  let text: string
  try {
    response = await fetch(url, {
      ...init,
      headers: { ...headers, ...(init.headers as Record<string, string>) },
      // A redirect that is followed would lose the key or turn a POST into a GET, each far from its cause.
      redirect: 'manual',
    })
    text = await response.text()
  } catch (cause) {
    throw networkError(cause)
  }
  const value = parseJson(text)
  const items: readonly unknown[] = Array.isArray(value) ? value : [value]
  if (!items.every(isRpcItem)) throw badResponse(response, value)
  // A batch that is refused as a whole is one error for all of it.
  const itemAt = (index: number) => (Array.isArray(value) ? items[index] : items[0])
  return { itemAt, response }
}

/** One result or error in the envelope of typed RPC. */
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
  if (!item) throw new ErrandClientError('BAD_RESPONSE', 'The answer of the service could not be read.', fields)
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
    return new ErrandClientError('BAD_RESPONSE', 'The answer of the service could not be read.', fields)
  }
  const isMissing = errorCode === 'NOT_FOUND' && message === 'There is no such operation.'
  const text = isMissing ? `The service has no operation ${operation}; it may be older than this client.` : message
  const requestId = fields.requestId
  return new ErrandClientError(errorCode, text, { status: httpStatus, details, retryAfterSeconds, requestId })
}
