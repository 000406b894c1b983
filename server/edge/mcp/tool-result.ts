import { isFault, type ErrandError, type ErrorCode } from '../../kernel/errors.ts'
import { storedObject, writeJson } from '../../kernel/json-text.ts'
import type { Task } from '../../tasks/task-schema.ts'
import { taskCanceled } from '../../tasks/task-failures.ts'
import type { CreateTaskParts } from '../../tasks/create-task.ts'
import { contentBlocks, type ContentBlock } from './content-blocks.ts'
import { outputSchemaOf } from './output-schema.ts'

type Stored = Pick<CreateTaskParts, 'catalogue' | 'payloads' | 'store'>

export type ToolResult = {
  content: ContentBlock[]
  structuredContent?: Record<string, unknown>
  isError?: true
  _meta: Record<string, unknown>
}

/** Larger results are sent as a preview and a link. */
const wholeBytesMax = 256 * 1024

export async function resultOf(parts: Stored, task: Task): Promise<ToolResult> {
  const { costUsd, endpointId, error, id: taskId, prunedAt, refundedUsd, response, responseUri } = task
  const meta = { taskId, costUsd }
  if (prunedAt !== undefined) {
    const code = error && { refundedUsd, code: error.code }
    return failure(`The contents of this task were deleted on ${prunedAt}. Call the tool again for a new result.`, {
      ...meta,
      ...code,
    })
  }
  if (error) {
    const details = error.details === '' || error.details === error.message ? '' : ` ${error.details}`
    const text = `${error.code}: ${error.message}${details}\nThe charge of ${refundedUsd} USD was refunded.`
    return failure(text, { ...meta, refundedUsd, code: error.code })
  }
  const endpoint = parts.catalogue.endpoint(endpointId)
  const hasSchema = endpoint !== undefined && outputSchemaOf(endpoint) !== undefined
  if (responseUri === undefined) return success(response as Record<string, unknown>, meta, hasSchema)
  const whole = await readWhole(parts, task)
  if (whole) return success(whole, meta, hasSchema)
  const text = `The result is too large to send in full. It starts with:\n${response as string}\n\nThe full result as JSON: ${responseUri}`
  const preview = { content: [{ type: 'text' as const, text }], _meta: { ...meta, responseUri } }
  // The result of a tool with an output schema must be structured, unless it is an error.
  return hasSchema ? { ...preview, isError: true } : preview
}

async function readWhole(
  { payloads, store }: Stored,
  { id: taskId, userId }: Task,
): Promise<Record<string, unknown> | undefined> {
  const payloadId = (await store.getTask({ userId, taskId }))?.response?.payloadId
  const digest = payloadId ? (await store.findPayload(payloadId))?.digest : undefined
  if (!payloadId || !digest || digest.bytes > wholeBytesMax) return undefined
  return storedObject(await payloads.read(payloadId, digest))
}

/** Clients of revisions before 2026-07-28 reject a `structuredContent` that is not an object. */
function success(result: Record<string, unknown>, meta: Record<string, unknown>, hasSchema: boolean): ToolResult {
  const json = writeJson(result)
  const blocks = contentBlocks(json)
  if (blocks) return { content: blocks, ...(hasSchema && { structuredContent: result }), _meta: meta }
  if (json.startsWith('"')) return { content: [{ type: 'text', text: JSON.parse(json) as string }], _meta: meta }
  return { content: [{ type: 'text', text: json }], structuredContent: result, _meta: meta }
}

export function failure(text: string, meta: Record<string, unknown>): ToolResult {
  return { content: [{ type: 'text', text }], isError: true, _meta: meta }
}

export function isCanceled({ error }: Pick<Task, 'error'>): boolean {
  return error?.code === taskCanceled.code
}

const remedies: Partial<Record<ErrorCode, string>> = {
  BAD_REQUEST: 'Correct the arguments and call again.',
  INSUFFICIENT_BALANCE: 'Add credit to the account before the next call.',
  LIMIT_REACHED: 'Before the next call, wait until the limit resets, or ask an admin to raise it.',
  ACCOUNT_BLOCKED: 'Wait until that time before the next call.',
}

/** Explains to a model or a person why no task was created. Returns undefined if the service is at fault. */
export function refusedResult(error: ErrandError): ToolResult | undefined {
  if (isFault(error)) return undefined
  const { code, details, retryAfterSeconds } = error
  // MCP calls the params `arguments`.
  const said = details?.map(({ message, path }) => `${path.replace(/^params(?=$|[.[])/, 'arguments')}: ${message}`)
  const wait = retryAfterSeconds === undefined ? undefined : `Call again in ${retryAfterSeconds} seconds.`
  // A retry delay means that the balance will suffice once other chats release their holds.
  const remedy = code === 'INSUFFICIENT_BALANCE' && wait ? wait : (remedies[code] ?? wait)
  const text = [said?.join('; ') ?? error.message, 'Nothing was charged.', remedy]
  return failure(text.filter((part) => part !== undefined).join(' '), {
    code,
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  })
}
