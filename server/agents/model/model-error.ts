const textCharsMax = 500
const causesMax = 8

type Shape = {
  name?: unknown
  message?: unknown
  statusCode?: unknown
  responseBody?: unknown
  lastError?: unknown
  cause?: unknown
  code?: unknown
  value?: unknown
}

/**
 * Describes any AI SDK error in one sentence. Quotes nothing from the request, and redacts everything in a provider's
 * message that looks like a key or a URL.
 */
export function describeModelError(thrown: unknown): string {
  return sentence(describe(thrown))
}

export class ModelFailure extends Error {
  override readonly name: string = 'ModelFailure'
}

/** Thrown if the provider rejects a request because of its content. The user still pays for earlier steps. */
export class RequestRefusedError extends ModelFailure {
  override readonly name = 'RequestRefusedError'
}

/**
 * Converts an SDK error to a failure without a `cause`, because the SDK's error contains the request, which may include
 * an API key.
 */
export function toModelFailure(thrown: unknown): ModelFailure {
  // The caller may already have converted the error.
  if (thrown instanceof ModelFailure) return thrown
  const message = describeModelError(thrown)
  return isRequestRefused(thrown) ? new RequestRefusedError(message) : new ModelFailure(message)
}

/**
 * Matches errors about prompts that are too long, as worded by OpenAI, Anthropic, Google, vLLM, llama.cpp and
 * compatible servers.
 */
const overflow =
  /context[_ ](?:length|window|size)|maximum context|(?:prompt|input|request) is too long|too many (?:input )?tokens|token count.{0,40}exceeds|string_above_max_length/i

/** Status codes that mean the request was rejected. Moderation and firewalls respond with 403 or 451. */
const refusals: ReadonlySet<unknown> = new Set([400, 403, 413, 422, 451])

export function isRequestRefused(thrown: unknown, depth = 0): boolean {
  if (typeof thrown !== 'object' || thrown === null || depth > causesMax) return false
  const { cause, lastError, statusCode } = thrown as Shape
  if (refusals.has(statusCode)) return true
  return isContextOverflow(thrown) || isRequestRefused(lastError ?? cause, depth + 1)
}

export function isContextOverflow(thrown: unknown, depth = 0): boolean {
  if (typeof thrown !== 'object' || thrown === null || depth > causesMax) return false
  const { cause, code, lastError, message, responseBody, statusCode } = thrown as Shape
  if (lastError !== undefined && lastError !== null) return isContextOverflow(lastError, depth + 1)
  if (typeof statusCode === 'number' && ![400, 413, 422].includes(statusCode)) return false
  if ([code, message, responseBody].some((text) => typeof text === 'string' && overflow.test(text))) return true
  return isContextOverflow(cause, depth + 1)
}

function describe(thrown: unknown, depth = 0): string {
  if (typeof thrown === 'string') return thrown
  if (typeof thrown !== 'object' || thrown === null || depth > causesMax) return ''
  const { cause, lastError, message, name, statusCode, value } = thrown as Shape
  if (lastError !== undefined && lastError !== null) return describe(lastError, depth + 1)
  const text = typeof message === 'string' ? message : ''
  if (typeof statusCode === 'number' && statusCode >= 400) return describeStatus(thrown, statusCode)
  switch (name) {
    case 'AI_APICallError':
      return describeConnection(thrown)
    case 'AI_NoObjectGeneratedError':
    case 'AI_NoOutputGeneratedError':
      return "The model's output does not match the endpoint's schema. Try again, or simplify the schema."
    // A stream chunk in an unexpected format, such as an error from a server that imitates the provider's API.
    case 'AI_TypeValidationError':
    case 'AI_JSONParseError': {
      const words = wordsOf(value)
      return words ? `The model provider failed: ${words}` : "The model provider's response is malformed. Try again."
    }
  }
  if (text === '' && cause !== undefined) return describe(cause, depth + 1)
  const isOfStream = name === 'AI_StreamProviderError' || !(thrown instanceof Error)
  return isOfStream && text !== '' ? `The model provider failed: ${text}` : text
}

function describeStatus({ message, responseBody }: Shape, status: number): string {
  const words = wordsOf(responseBody) || (typeof message === 'string' ? message : '')
  return words
    ? `The model provider responded with ${status}: ${words}`
    : `The model provider responded with the status ${status}. Try again, or check the provider.`
}

function describeConnection(error: Shape): string {
  const code = codeOf(error)
  if (typeof error.statusCode === 'number') {
    return code === ''
      ? "The model provider's response is malformed. Try again."
      : 'The connection to the model provider was lost during the response. Try again.'
  }
  return code === ''
    ? 'Could not reach the model provider. Try again.'
    : `Could not reach the model provider (${code}). Try again.`
}

/** Returns the network error code, such as ECONNREFUSED, from the chain of causes. */
function codeOf(error: unknown, depth = 0): string {
  if (typeof error !== 'object' || error === null || depth > causesMax) return ''
  const { cause, code } = error as Shape
  return typeof code === 'string' && /^[A-Z][A-Z_]+$/.test(code) ? code : codeOf(cause, depth + 1)
}

function wordsOf(body: unknown): string {
  let value = body
  if (typeof body === 'string') {
    try {
      value = JSON.parse(body)
    } catch {
      return ''
    }
  }
  if (typeof value !== 'object' || value === null) return ''
  const { detail, error, message } = value as { detail?: unknown; error?: unknown; message?: unknown }
  const inner = typeof error === 'object' && error !== null ? (error as Shape).message : error
  return [inner, message, detail].find((text): text is string => typeof text === 'string' && text !== '') ?? ''
}

const address = /\b[a-z][a-z0-9+.-]*:\/\/\S*[^\s.,;:!?'")\]]/gi
/** Matches words with a key prefix, mixed sequences of at least 20 letters and digits, and partly masked words. */
const keyLike =
  /\b(?:sk|pk|rk|gsk|xai|hf|nvapi|AIza|Bearer)[-_ ][\w*.-]*\w|\b(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z\d]{20,}\b|[\w-]*\*{3,}[\w*-]*/g

function sentence(text: string): string {
  const line = text.replaceAll(address, '…').replaceAll(keyLike, '…').replaceAll(/\s+/g, ' ').trim()
  if (line === '') return 'The model failed without an error message. Try again.'
  if (line.length > textCharsMax) return `${line.slice(0, textCharsMax).toWellFormed()}…`
  return /[.!?…]$/.test(line) ? line : `${line}.`
}
