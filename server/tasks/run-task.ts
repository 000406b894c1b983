import type { TaskRecord, TaskFailure } from '../store/tasks/task-types.ts'
import type { Span } from '@opentelemetry/api'
import type { AgentHost } from '../agents/threads/agent-port.ts'
import type { Catalogue, Endpoint } from '../agents/config/catalogue.ts'
import { boundUsage, costOfEvents, type Usage } from '../billing/event-charges.ts'
import { chargeOf, providerCostOfTask, termsOf } from '../billing/task-charges.ts'
import type { RunOutcome } from '../agents/run/run-outcome.ts'
import type { ConnectorAccess } from '../connectors/connector-access.ts'
import type { ConnectorSpec } from '../connectors/connector-spec.ts'
import type { Clock } from '../kernel/clock.ts'
import { isDebug, type Logger } from '../kernel/logger.ts'
import type { Meter } from '../kernel/meter.ts'
import { storeJson } from '../payloads/inline-rule.ts'
import type { PayloadStore } from '../payloads/payload-store.ts'
import type { Store } from '../store/store.ts'
import { endTaskSpan, type ServiceTracing } from '../kernel/tracing/service-tracing.ts'
import { traceParentOf } from '../kernel/tracing/trace-parent.ts'
import type { LiveProgress, LiveRun } from './live-progress.ts'
import { RunTimer } from './run-timer.ts'
import { taskCanceled } from './task-failures.ts'
import type { TaskSource } from './task-source.ts'

export type RunTaskParts = {
  access: ConnectorAccess
  agents: AgentHost
  catalogue: Catalogue
  clock: Clock
  inlineBytes: number
  live: LiveProgress
  log: Logger
  meter: Meter
  payloads: PayloadStore
  source: TaskSource
  store: Store
  tracing: ServiceTracing | undefined
}

/** Abort reason of runs in progress when the service stops. */
export const interrupted: RunOutcome = {
  kind: 'interrupted',
  message: 'The service stopped before the agent finished. Create the task again.',
}
/** Abort reason of a canceled run. Its end is already stored, so later writes by the agent have no effect. */
export const canceled: RunOutcome = { kind: 'failed', error: taskCanceled, isPatient: true }

/**
 * Returns the maximum duration of a run. A task with connectors gets twice the endpoint's timeout, because the run may
 * also wait that long for connectors.
 */
export function longestRunMs(
  { catalogue }: Pick<RunTaskParts, 'catalogue'>,
  { connectorIds, endpointId }: TaskRecord,
): number {
  const timeoutMs = catalogue.endpoint(endpointId)?.timeoutMs ?? 0
  return connectorIds === null ? timeoutMs : 2 * timeoutMs
}

/** The abort reason of `stop` is `interrupted` or `canceled`. */
type Run = { task: TaskRecord; span: Span | undefined; stop: AbortSignal; live: LiveRun }

const retryMsMin = 100
const retryMsMax = 5000

/**
 * Runs a claimed task until its end is stored. Resolves to `requeued` if the run was interrupted and its endpoint
 * allows another attempt. Retries storing a result until it succeeds, because the agent's work must not be lost.
 */
export async function runTask(
  parts: RunTaskParts,
  { task, stop }: Pick<Run, 'task' | 'stop'>,
): Promise<'ended' | 'requeued'> {
  parts.meter.taskTaken((task.startedAt! - task.createdAt) / 1000)
  const span = parts.tracing?.taskBegan({ ...task, agentName: parts.catalogue.agent(task.agentId)?.name })
  const live = parts.live.begin({ taskId: task.id, attempt: task.attempt })
  try {
    return await runToItsEnd(parts, { task, span, stop, live })
  } finally {
    live.end()
    // No-op if `report` has already ended the span.
    span?.end()
  }
}

async function runToItsEnd(parts: RunTaskParts, { live, span, stop, task }: Run): Promise<'ended' | 'requeued'> {
  const endpoint = parts.catalogue.endpoint(task.endpointId)
  const startedAt = performance.now()
  const outcome = await runAgent(parts, { task, span, stop, live })
  const retries = endpoint?.retries ?? 0
  const untilStored = <Result>(store: () => Promise<Result>) =>
    repeatUntilStored(parts, { taskId: task.id, stop, store })
  const ended = { task, span, outcome, startedAt }
  if (stop.reason === canceled) {
    report(parts, { ...ended, ...unpaid, outcome: canceled, isRequeued: false })
    return 'ended'
  }
  const told = { ...(live.progress !== undefined && { progress: live.progress }), runLog: live.runLog }
  if (outcome.kind !== 'completed') {
    const end = await untilStored(() => settleUnfinished(parts, { task, outcome, retries, endpoint, ...told }))
    report(parts, {
      ...ended,
      charged: 0,
      providerCost: providerCostOf(outcome, endpoint),
      isRequeued: end === 'requeued',
    })
    return end
  }
  // Write the payload only once. Retries of the following steps refer to the same file.
  const response = await untilStored(() => storeJson(outcome.json, parts))
  const usage = usageOf(parts, { task, outcome })
  const tokens =
    task.rates && chargeOf(outcome.tokens, { rates: task.rates, cap: task.cost, models: endpoint?.modelIds })
  const used = { ...(usage && { usage }), ...(tokens && { tokens }) }
  const providerCost = providerCostOfTask(outcome.tokens, endpoint?.costs)
  const model = modelOf(outcome.tokens, endpoint)
  const end = { taskId: task.id, attempt: task.attempt, response, ...used, model, providerCost, ...told }
  let isStored = false
  try {
    isStored = await untilStored(() => parts.store.completeTask(end))
  } finally {
    // After a failure the row may or may not exist, so leave the file to orphan collection.
    if (response.payloadId !== null) await parts.payloads.release(response.payloadId)
  }
  const charged = tokens ? tokens.cost : usage ? costOfEvents(usage, task.meters!) : task.cost
  if (isStored) report(parts, { ...ended, charged, providerCost, isRequeued: false })
  if (!isStored && response.payloadId !== null) await discardUnnamed(parts, response.payloadId)
  return 'ended'
}

/**
 * Returns the billable usage of a metered task: the valid events that the agent's thread counted, limited to the
 * maximum cost.
 */
function usageOf(
  { log }: RunTaskParts,
  { outcome, task }: { outcome: Completed; task: TaskRecord },
): Usage | undefined {
  const { cost: cap, endpointId, id: taskId, meters } = task
  if (!meters) return undefined
  const { isAsClaimed, usage } = boundUsage(outcome.usage, { prices: meters, cap })
  if (!isAsClaimed)
    log.warn(
      { taskId, endpointId },
      'an agent charged events that its endpoint does not price; charged only its other events',
    )
  return usage
}

function providerCostOf(outcome: RunOutcome, endpoint: Endpoint | undefined): number | null {
  return outcome.kind === 'failed' ? providerCostOfTask(outcome.tokens, endpoint?.costs) : null
}

/** If no tokens were counted, returns the agent's first model. */
function modelOf(tokens: RunTokens, endpoint: Endpoint | undefined): string | undefined {
  return endpoint?.modelIds[tokens?.model ?? 0] ?? undefined
}

/**
 * Deletes the payload of a stale attempt, unless a row refers to it. If the response to `completeTask` was lost, the
 * retry appears stale although the row exists.
 */
async function discardUnnamed({ payloads, store }: RunTaskParts, payloadId: string): Promise<void> {
  const isNamed = await store.findPayload(payloadId).then(
    (found) => found !== undefined,
    () => true,
  )
  if (!isNamed) await payloads.release(payloadId, true)
}

type RunTokens = Extract<RunOutcome, { kind: 'completed' }>['tokens']
type Completed = Extract<RunOutcome, { kind: 'completed' }>
type Ended = Omit<Run, 'stop' | 'live'> &
  Pick<Parameters<Meter['taskRun']>[0], 'charged' | 'providerCost'> & {
    outcome: RunOutcome
    startedAt: number
    isRequeued: boolean
  }
const unpaid = { charged: 0, providerCost: null }

/** Reports the end of a run to metrics, logs and tracing. Omits error messages, because they may contain user data. */
function report(
  { catalogue, log, meter, tracing }: RunTaskParts,
  { charged, isRequeued, outcome, providerCost, span, startedAt, task }: Ended,
): void {
  const { agentId, attempt, endpointId, id: taskId, userId } = task
  const ms = performance.now() - startedAt
  const end = outcome.kind
  const tokens = end === 'interrupted' ? undefined : outcome.tokens
  const code = end === 'failed' ? outcome.error.code : end === 'interrupted' ? 'AGENT_INTERRUPTED' : ''
  meter.taskRun({ agentId, end, code, seconds: ms / 1000, charged, providerCost })
  if (span && tracing) {
    const model = modelOf(tokens, catalogue.endpoint(endpointId)) ?? null
    endTaskSpan(span, { end, code, usage: tokens && { ...tokens.used, model } })
  }
  if (end === 'completed' && !isDebug(log)) return
  const fields = { taskId, userId, endpointId, attempt, ms: Math.round(ms), ...(code !== '' && { code }) }
  if (end === 'completed') log.debug(fields, 'a task completed')
  else if (end === 'failed') log.info(fields, 'a task failed')
  else log.info({ ...fields, isRequeued }, 'a task was interrupted')
}

async function runAgent(parts: RunTaskParts, { live, span, task, stop }: Run): Promise<RunOutcome> {
  const { access, agents, catalogue, clock, log, payloads, source, store } = parts
  const { connectorIds, cost: cap, endpointId, id: taskId, meters: prices, userId, request } = task
  const { generation } = catalogue
  const endpoint = catalogue.endpoint(endpointId)
  if (!endpoint) {
    const message = `The endpoint ${endpointId} is no longer available. GET /api/agents lists the available endpoints.`
    return { kind: 'failed', error: { code: 'AGENT_UNAVAILABLE', message, details: '' } }
  }
  if (task.rates && endpoint.modelIds.length === 0) {
    const message = `The endpoint ${endpointId} no longer calls a model. Create the task again at its new price.`
    return { kind: 'failed', error: { code: 'AGENT_UNAVAILABLE', message, details: '' } }
  }
  let params: string
  let connectors: ConnectorSpec[]
  try {
    params = request.text
    if (request.payloadId !== null) {
      const stored = await store.findPayload(request.payloadId)
      params = await payloads.read(request.payloadId, stored?.digest ?? null)
      JSON.parse(params)
    }
    connectors = connectorIds === null ? [] : await access.specsOf(userId, connectorIds)
  } catch (error) {
    log.error({ taskId, err: error }, 'could not read the stored request of a task')
    return { kind: 'interrupted', message: 'Could not read the stored request of the task. Create the task again.' }
  }
  const controller = new AbortController()
  const abort = (outcome: RunOutcome) => controller.abort(outcome)
  const begunAt = source.begunAt(task)
  const leftMs = (limitMs: number) => Math.max(0, begunAt + limitMs - clock.now())
  const { timeoutMs } = endpoint
  const timer = new RunTimer({
    ownMs: leftMs(timeoutMs),
    waitingMs: timeoutMs,
    onTimeout: () => abort({ kind: 'failed', error: timedOut(timeoutMs) }),
  })
  let isCancelable = task.cancelableUntil === null
  let forbidding: Promise<void> | undefined
  const forbidCancel = async () => {
    isCancelable = false
    if (task.cancelableUntil !== null) return
    const forbid = () => store.forbidCancel({ taskId, attempt: task.attempt })
    if (await repeatUntilStored(parts, { taskId, stop: controller.signal, store: forbid })) return
    // The task has ended elsewhere, so this run must not continue.
    abort(canceled)
    await new Promise(() => {})
  }
  const ownLimitMs = task.timeoutMs
  const ownTimer =
    ownLimitMs !== null &&
    setTimeout(() => {
      if (isCancelable) abort({ kind: 'failed', error: timedOut(ownLimitMs), isPatient: true })
    }, leftMs(ownLimitMs))
  const onStop = () => abort(stop.reason as RunOutcome)
  if (stop.aborted) onStop()
  stop.addEventListener('abort', onStop, { once: true })
  try {
    const run = {
      endpointId,
      taskId,
      userId,
      params,
      connectors,
      timeoutMs: Math.min(timeoutMs, ownLimitMs ?? timeoutMs),
      ...(span && { traceparent: traceParentOf(span) }),
    }
    const metering = prices && { metering: { prices, cap } }
    const tokens = termsOf(task, endpoint)
    const onProgress = (json: string) => live.note(json)
    return await agents.runTask(
      { ...run, ...metering, ...(tokens && { tokens }) },
      {
        generation,
        signal: controller.signal,
        onProgress,
        onLog: (line) => live.log(line),
        onForbidCancel: () => (forbidding ??= forbidCancel()),
        onWaiting: (isWaiting) => timer.setWaiting(isWaiting),
      },
    )
  } finally {
    timer.close()
    live.noteConnectors(timer.connectorMs)
    if (ownTimer) clearTimeout(ownTimer)
    stop.removeEventListener('abort', onStop)
  }
}

function timedOut(limitMs: number): TaskFailure {
  const seconds = limitMs / 1000
  const message = `The agent did not finish within ${seconds} ${seconds === 1 ? 'second' : 'seconds'}. Send less work per task.`
  return { code: 'AGENT_TIMEOUT', message, details: '' }
}

type Settle = {
  task: TaskRecord
  outcome: Exclude<RunOutcome, Completed>
  retries: number
  endpoint: Endpoint | undefined
  progress?: string
  runLog: string | undefined
}

async function settleUnfinished(
  { store }: RunTaskParts,
  { endpoint, task, outcome, retries, ...told }: Settle,
): Promise<'ended' | 'requeued'> {
  const attempt = { taskId: task.id, attempt: task.attempt }
  if (outcome.kind === 'failed') {
    const { error, tokens } = outcome
    const used = { model: modelOf(tokens, endpoint), providerCost: providerCostOf(outcome, endpoint) }
    await store.failTask({ ...attempt, error, countsAsAbuse: true, ...used, ...told })
    return 'ended'
  }
  const error = { code: 'AGENT_INTERRUPTED', message: outcome.message, details: '' }
  return (await store.interruptTask({ ...attempt, error, retries, runLog: told.runLog })) === 'requeued'
    ? 'requeued'
    : 'ended'
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
      // The service must exit. Its next start settles the task as interrupted.
      if (stop.aborted && retryMs === retryMsMax) throw error
      log.error({ taskId, err: error }, 'could not store a change of a task; retrying')
      await new Promise((resolve) => setTimeout(resolve, retryMs))
    }
  }
}
