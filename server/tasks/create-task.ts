import type { RateState } from '../store/limits/limit-types.ts'
import type { z } from 'zod'
import type { Catalogue } from '../agents/config/catalogue.ts'
import { keyIdOf, starterOf, type Caller } from '../procedures/caller.ts'
import { assertSignedIn, type ConnectorAccess } from '../connectors/connector-access.ts'
import {
  balanceRefusal,
  limitRefusal,
  owedRefusal,
  rateRefusal,
  secondsUntil,
  tokenUsed,
  waitingRefusal,
} from '../billing/refusals.ts'
import { storedByModel } from '../billing/written-rates.ts'
import { hashJson } from '../kernel/canonical-json.ts'
import { isoTime, type Clock } from '../kernel/clock.ts'
import { unreachable } from '../kernel/assert.ts'
import { badField, ErrandError } from '../kernel/errors.ts'
import { newId } from '../kernel/ids.ts'
import { isLarger, storeJson } from '../payloads/inline-rule.ts'
import type { PayloadStore } from '../payloads/payload-store.ts'
import { quoteUsed, type Quotes } from '../billing/quotes.ts'
import type { ToolCall } from '../store/requests/wire-request-types.ts'
import { platformOwner } from '../store/events/webhook-types.ts'
import type { Store } from '../store/store.ts'
import type { AdmitTask, AdmitTaskResult } from '../store/tasks/task-types.ts'
import { checkWebhookUrl } from '../webhooks/webhook-url.ts'
import { checkTask, priceOf, ticksFor } from './check-task.ts'
import type { CreateTaskInput, CreateTaskOutput } from './task-schema.ts'
import type { TaskRunner } from './task-runner.ts'
import type { RequestTrace } from '../kernel/tracing/request-trace.ts'
import type { ServiceTracing } from '../kernel/tracing/service-tracing.ts'

export type CreateTaskParts = {
  access: ConnectorAccess
  catalogue: Catalogue
  store: Store
  payloads: PayloadStore
  runner: TaskRunner
  clock: Clock
  quotes: Quotes
  inlineBytes: number
  /** Hosts that a webhook URL may contain even if they resolve to private addresses. */
  webhookPrivateHosts: readonly string[]
  tracing: ServiceTracing | undefined
}

type CreateTaskRequest = {
  about: RequestTrace
  caller: Caller
  input: z.output<typeof CreateTaskInput>
  idempotencyKey: string | null
  /** The MCP tool call, if any, that creates the task and waits for its result. */
  call: ToolCall | null
  /** Receives the state of the rate window after the admission check. */
  onRate: (rate: RateState) => void
  onLarge: () => Promise<void>
}

/**
 * Validates a task, charges its price and queues it. The checks run in the documented order. If one fails, throws an
 * ErrandError, writes nothing and does not count the task toward the rate limit.
 */
export async function createTask(
  parts: CreateTaskParts,
  { about, call, caller, input, idempotencyKey, onLarge, onRate }: CreateTaskRequest,
): Promise<z.output<typeof CreateTaskOutput>> {
  const { access, catalogue, clock, inlineBytes, payloads, quotes, runner, store } = parts
  runner.assertAccepting()
  const { connectorIds, endpointId, expiresInSeconds, params, tags = {}, timeoutSeconds } = input
  const json = JSON.stringify(params)
  const ownTick = ticksFor(json, onLarge)
  const bodyHash = async () => {
    await ownTick()
    return hashJson(input)
  }
  if (idempotencyKey !== null) {
    const replayed = await findReplay(store, { caller, idempotencyKey, bodyHash })
    if (replayed !== undefined) return created(replayed, about)
  }
  runner.assertRoom()
  const { agent, endpoint } = await checkTask(catalogue, { caller, input, ownTick })
  if (timeoutSeconds !== undefined && endpoint.cancel === 'pending') {
    throw badField(
      'timeoutSeconds',
      `Must be omitted, because tasks of ${endpointId} cannot be stopped while they are running`,
    )
  }
  if (timeoutSeconds !== undefined && timeoutSeconds * 1000 > endpoint.timeoutMs) {
    throw badField('timeoutSeconds', `Must be at most ${endpoint.timeoutMs / 1000}, the timeout of ${endpointId}`)
  }
  if (connectorIds) {
    const taker = {
      what: agent.kind === 'http' ? `agent ${agent.id}` : `endpoint ${endpointId}`,
      connectorTokensMax: endpoint.connectorTokensMax,
    }
    await access.assertOwned(connectorIds, { taker, path: 'connectorIds', userId: caller.userId })
    assertSignedIn(await access.specsOf(caller.userId, connectorIds))
  }
  const webhookUrl = input.webhookUrl === undefined ? null : await checkedUrl(parts, input.webhookUrl, caller)
  const { meters, price, quoteId, rates } = await priceOf(quotes, { caller, endpoint, input, ownTick })

  const now = clock.now()
  const isLarge = isLarger(json, inlineBytes)
  const admission: Omit<AdmitTask, 'request'> = {
    taskId: newId('task', now),
    userId: caller.userId,
    agentId: endpoint.agentId,
    endpointId,
    keyId: keyIdOf(caller),
    startedBy: starterOf(caller),
    cost: price,
    meters,
    rates: rates && storedByModel(rates),
    payloadBytes: isLarge ? Buffer.byteLength(json) : 0,
    connectorIds: connectorIds ?? null,
    webhookUrl,
    quoteId,
    limits: caller.limits,
    waitingMax: runner.waitingMax,
    ...(expiresInSeconds !== undefined && { expiresInMs: expiresInSeconds * 1000 }),
    ...(timeoutSeconds !== undefined && { timeoutMs: Math.ceil(timeoutSeconds * 1000) }),
    tags: Object.keys(tags).length === 0 ? null : tags,
    call,
    idempotency: idempotencyKey === null ? null : { key: idempotencyKey, bodyHash: await bodyHash() },
  }
  if (isLarge) {
    // Run the checks before writing the file, so that a rejected request does not write one.
    const foreseen = await store.foreseeAdmission(admission)
    if (foreseen) return answer(foreseen, { taskId: admission.taskId, about, onRate })
  }
  const request = await storeJson(json, { inlineBytes, payloads })
  let result: AdmitTaskResult
  try {
    result = await store.admitTask({ ...admission, request })
  } catch (error) {
    // The commit may have succeeded despite the error, so leave the payload to orphan collection.
    if (request.payloadId !== null) await payloads.release(request.payloadId)
    throw error
  }
  if (request.payloadId !== null) await payloads.release(request.payloadId, result.outcome !== 'accepted')
  if (result.outcome === 'accepted') {
    parts.tracing?.taskAdmitted(admission.taskId, about.span)
    runner.taskQueued()
  }
  return answer(result, { taskId: admission.taskId, about, onRate })
}

/**
 * Requires a signing webhook, because receivers verify requests with its secret. If a platform key acts on behalf of
 * the user, the platform's webhook also counts.
 */
async function checkedUrl({ store, webhookPrivateHosts }: CreateTaskParts, text: string, caller: Caller) {
  const field = 'webhookUrl'
  const url = checkWebhookUrl(text, { field, privateHosts: webhookPrivateHosts })
  const owners = caller.credential.kind === 'acting' ? [caller.userId, platformOwner] : [caller.userId]
  for (const owner of owners) {
    const webhooks = await store.webhooks.list(owner)
    if (webhooks.some((webhook) => webhook.url === null && webhook.disabledAt === null)) return url
  }
  throw badField(
    field,
    'Requires a webhook whose url is null, to sign these requests. Create it once with POST /api/webhooks',
  )
}

type Repeated = Pick<CreateTaskRequest, 'caller'> & { idempotencyKey: string; bodyHash: () => Promise<string> }

/**
 * Returns the task that an earlier request with this idempotency key created. Hashes the body only if the key was used
 * before.
 */
async function findReplay(
  store: Store,
  { bodyHash, caller, idempotencyKey: key }: Repeated,
): Promise<string | undefined> {
  const earlier = await store.findIdempotent({ userId: caller.userId, operation: 'createTask', key })
  if (!earlier) return undefined
  if (earlier.bodyHash !== (await bodyHash())) throw idempotencyConflict()
  return earlier.resourceId
}

type Answered = Pick<CreateTaskRequest, 'about' | 'onRate'> & { taskId: string }

function answer(result: AdmitTaskResult, { about, onRate, taskId }: Answered) {
  onRate(result.rate)
  switch (result.outcome) {
    case 'accepted':
      return created(taskId, about)
    case 'replayed':
      return created(result.taskId, about)
    case 'refused':
      throw refusal(result)
    default:
      return unreachable(result)
  }
}

function created(taskId: string, about: RequestTrace): z.output<typeof CreateTaskOutput> {
  about.taskId = taskId
  return { taskId, status: 'pending', message: 'Task created' }
}

function refusal(result: Extract<AdmitTaskResult, { outcome: 'refused' }>): ErrandError {
  const { rate } = result
  switch (result.reason) {
    case 'idempotency-conflict':
      return idempotencyConflict()
    case 'quote-used':
      return quoteUsed()
    case 'token-used':
      return tokenUsed()
    case 'blocked': {
      const until = isoTime(result.until)
      const message = `Too many tasks of this account failed. Create tasks again after ${until}.`
      return new ErrandError('ACCOUNT_BLOCKED', message, { retryAfterSeconds: secondsUntil(result.until, rate.now) })
    }
    case 'connectors-blocked': {
      const message = `A task of this account failed after it had called a connector. Omit connectorIds, or retry after ${isoTime(result.until)}.`
      return new ErrandError('ACCOUNT_BLOCKED', message, { retryAfterSeconds: secondsUntil(result.until, rate.now) })
    }
    case 'rate':
      return rateRefusal(rate)
    case 'waiting':
      return waitingRefusal(result)
    case 'agent':
    case 'key-rate':
    case 'limit':
    case 'payloads':
      return limitRefusal(result)
    case 'balance':
      return balanceRefusal(result)
    case 'owed':
      return owedRefusal(result.owed)
    default:
      return unreachable(result)
  }
}

function idempotencyConflict(): ErrandError {
  return new ErrandError(
    'CONFLICT',
    'This Idempotency-Key was already used with a different request body. Send a new key.',
  )
}
