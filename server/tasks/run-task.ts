import type { AgentHost } from '../agents/agent-port.ts'
import type { Catalogue } from '../agents/catalogue.ts'
import type { RunOutcome } from '../agents/run-outcome.ts'
import { unreachable } from '../kernel/assert.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Logger } from '../kernel/logger.ts'
import { storeJson } from '../payloads/inline-rule.ts'
import type { PayloadStore } from '../payloads/payload-store.ts'
import type { StoredJson, TaskFailure, TaskRecord } from '../store/records.ts'
import type { Store } from '../store/store.ts'

export type RunTaskParts = {
  agents: AgentHost
  catalogue: Catalogue
  clock: Clock
  inlineBytes: number
  log: Logger
  payloads: PayloadStore
  store: Store
}

const retryMsMin = 100
const retryMsMax = 5000

/**
 * Runs a task that was claimed, to its stored end. Resolves to `requeued` when it was interrupted and its endpoint
 * allows another attempt. A result that cannot be stored is tried again until it is: the agent has done its work.
 */
export async function runTask(
  parts: RunTaskParts,
  { task, stop }: { task: TaskRecord; stop: AbortSignal },
): Promise<'ended' | 'requeued'> {
  const endpoint = parts.catalogue.endpoint(task.endpointId)
  const timeoutMs = endpoint?.timeoutMs ?? 0
  const outcome = await runAgent(parts, { task, timeoutMs, stop })
  const retries = endpoint?.retries ?? 0
  return await untilStored(parts, { taskId: task.id, stop }, () => settle(parts, { task, outcome, retries }))
}

type RunAgent = { task: TaskRecord; timeoutMs: number; stop: AbortSignal }

async function runAgent(parts: RunTaskParts, { task, timeoutMs, stop }: RunAgent): Promise<RunOutcome> {
  const { agents, catalogue, clock, log, payloads } = parts
  const { endpointId, id: taskId, userId, request } = task
  if (!catalogue.endpoint(endpointId)) {
    const message = `The endpoint ${endpointId} is no longer offered.`
    return { kind: 'failed', error: { code: 'AGENT_UNAVAILABLE', message, details: '' } }
  }
  let params: string
  try {
    params = request.payloadId === null ? request.text : await payloads.read(request.payloadId)
    if (request.payloadId !== null) JSON.parse(params)
  } catch (error) {
    log.error({ taskId, err: error }, 'the stored request of a task cannot be read')
    return { kind: 'interrupted', message: 'The stored request could not be read.' }
  }
  const controller = new AbortController()
  const abort = (outcome: RunOutcome) => controller.abort(outcome)
  const seconds = timeoutMs / 1000
  const timedOut: TaskFailure = {
    code: 'AGENT_TIMEOUT',
    message: `The agent did not finish within ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`,
    details: '',
  }
  const remainingMs = Math.max(0, task.startedAt! + timeoutMs - clock.now())
  const timer = setTimeout(() => abort({ kind: 'failed', error: timedOut }), remainingMs)
  const onStop = () => abort({ kind: 'interrupted', message: 'The service was stopped before the agent finished.' })
  if (stop.aborted) onStop()
  stop.addEventListener('abort', onStop, { once: true })
  try {
    return await agents.runTask({ endpointId, taskId, userId, params }, controller.signal)
  } finally {
    clearTimeout(timer)
    stop.removeEventListener('abort', onStop)
  }
}

type Settle = { task: TaskRecord; outcome: RunOutcome; retries: number }

async function settle(parts: RunTaskParts, { task, outcome, retries }: Settle): Promise<'ended' | 'requeued'> {
  const { store, payloads } = parts
  const attempt = { taskId: task.id, attempt: task.attempt }
  switch (outcome.kind) {
    case 'completed': {
      const response = await storeJson(outcome.json, parts)
      const isStored = await completeOrRelease(parts, attempt, response)
      if (response.payloadId !== null) await payloads.release(response.payloadId, !isStored)
      return 'ended'
    }
    case 'failed':
      await store.failTask({ ...attempt, error: outcome.error, countsAsAbuse: true })
      return 'ended'
    case 'interrupted': {
      const error = { code: 'AGENT_INTERRUPTED', message: outcome.message, details: '' }
      return (await store.interruptTask({ ...attempt, error, retries })) === 'requeued' ? 'requeued' : 'ended'
    }
    default:
      return unreachable(outcome)
  }
}

async function completeOrRelease(
  { payloads, store }: RunTaskParts,
  attempt: { taskId: string; attempt: number },
  response: StoredJson,
): Promise<boolean> {
  try {
    return await store.completeTask({ ...attempt, response })
  } catch (error) {
    // The next try writes a payload of its own; whether this one's row exists is not known, so it is not removed.
    if (response.payloadId !== null) await payloads.release(response.payloadId)
    throw error
  }
}

async function untilStored<Result>(
  { log }: RunTaskParts,
  { taskId, stop }: { taskId: string; stop: AbortSignal },
  store: () => Promise<Result>,
): Promise<Result> {
  for (let retryMs = retryMsMin; ; retryMs = Math.min(retryMs * 2, retryMsMax)) {
    try {
      return await store()
    } catch (error) {
      // Once the service has to end, the next start settles the task as interrupted.
      if (stop.aborted && retryMs === retryMsMax) throw error
      log.error({ taskId, err: error }, 'the end of a task cannot be stored; it is tried again')
      await new Promise((resolve) => setTimeout(resolve, retryMs))
    }
  }
}
