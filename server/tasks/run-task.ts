import type { AgentHost } from '../agents/agent-port.ts'
import type { Catalogue } from '../agents/catalogue.ts'
import type { RunOutcome } from '../agents/run-outcome.ts'
import type { ConnectorAccess } from '../connectors/connector-access.ts'
import type { ConnectorSpec } from '../connectors/connector-spec.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Logger } from '../kernel/logger.ts'
import { storeJson } from '../payloads/inline-rule.ts'
import type { PayloadStore } from '../payloads/payload-store.ts'
import type { TaskFailure, TaskRecord } from '../store/records.ts'
import type { Store } from '../store/store.ts'

export type RunTaskParts = {
  access: ConnectorAccess
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
  const untilStored = <Result>(store: () => Promise<Result>) =>
    repeatUntilStored(parts, { taskId: task.id, stop, store })
  if (outcome.kind !== 'completed') return await untilStored(() => settleUnfinished(parts, { task, outcome, retries }))
  // The payload is written once: each repetition of the rest names the same one.
  const response = await untilStored(() => storeJson(outcome.json, parts))
  let isStored = false
  try {
    isStored = await untilStored(() => parts.store.completeTask({ taskId: task.id, attempt: task.attempt, response }))
  } finally {
    // After a failure it is not known whether the row exists, so the file is left to the collection of orphans.
    if (response.payloadId !== null) await parts.payloads.release(response.payloadId)
  }
  if (!isStored && response.payloadId !== null) await parts.payloads.release(response.payloadId, true)
  return 'ended'
}

type RunAgent = { task: TaskRecord; timeoutMs: number; stop: AbortSignal }

async function runAgent(parts: RunTaskParts, { task, timeoutMs, stop }: RunAgent): Promise<RunOutcome> {
  const { access, agents, catalogue, clock, log, payloads } = parts
  const { connectorIds, endpointId, id: taskId, userId, request } = task
  if (!catalogue.endpoint(endpointId)) {
    const message = `The endpoint ${endpointId} is no longer offered.`
    return { kind: 'failed', error: { code: 'AGENT_UNAVAILABLE', message, details: '' } }
  }
  let params: string
  let connectors: ConnectorSpec[]
  try {
    params = request.payloadId === null ? request.text : await payloads.read(request.payloadId)
    if (request.payloadId !== null) JSON.parse(params)
    connectors = connectorIds === null ? [] : await access.specsOf(userId, connectorIds)
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
    return await agents.runTask({ endpointId, taskId, userId, params, connectors }, controller.signal)
  } finally {
    clearTimeout(timer)
    stop.removeEventListener('abort', onStop)
  }
}

type Settle = { task: TaskRecord; outcome: Exclude<RunOutcome, { kind: 'completed' }>; retries: number }

async function settleUnfinished(
  { store }: RunTaskParts,
  { task, outcome, retries }: Settle,
): Promise<'ended' | 'requeued'> {
  const attempt = { taskId: task.id, attempt: task.attempt }
  if (outcome.kind === 'failed') {
    await store.failTask({ ...attempt, error: outcome.error, countsAsAbuse: true })
    return 'ended'
  }
  const error = { code: 'AGENT_INTERRUPTED', message: outcome.message, details: '' }
  return (await store.interruptTask({ ...attempt, error, retries })) === 'requeued' ? 'requeued' : 'ended'
}

type UntilStored<Result> = { taskId: string; stop: AbortSignal; store: () => Promise<Result> }

async function repeatUntilStored<Result>(
  { log }: RunTaskParts,
  { taskId, stop, store }: UntilStored<Result>,
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
