import { placesWaitMsMax } from '../../connectors/connector-bounds.ts'
import { ConnectorsUnavailableError } from '../../connectors/connector-spec.ts'
import { openRunConnectors, type Connect, type RunConnectors } from '../../connectors/thread/run-connectors.ts'
import { boundConnectors } from './bound-connectors.ts'
import { taskConnectors, WaitingTime } from './task-connectors.ts'
import type { Catalogue } from '../config/catalogue.ts'
import type { AgentLog, TaskRun } from '../config/define-config.ts'
import { EventCharges } from '../../billing/event-charges.ts'
import { encodeProgress, PacedProgress } from './run-progress.ts'
import { TaskTokens } from './task-tokens.ts'
import type { RunTaskOptions } from '../threads/agent-port.ts'
import { describeThrown, encodeResult, isInstance, type RunOutcome, type TaskRequest } from './run-outcome.ts'

type ExecuteTask = Pick<RunTaskOptions, 'onForbidCancel' | 'onProgress' | 'onWaiting' | 'signal'> & {
  catalogue: Catalogue
  request: TaskRequest
  log: AgentLog
  resultBytesMax: number
  connect: Connect
}

/**
 * Stop waiting for connectors this long before the run's timeout, because a timeout would count as the agent's failure.
 */
const connectorMarginMs = 1000

/** Runs an endpoint in this thread. Never throws: every failure becomes an outcome. */
export async function executeTask({
  catalogue,
  request,
  signal,
  log,
  connect,
  onForbidCancel,
  onProgress,
  onWaiting,
  resultBytesMax,
}: ExecuteTask): Promise<RunOutcome> {
  const { endpointId, metering, taskId, timeoutMs, tokens: terms, traceparent, userId } = request
  const endpoint = catalogue.endpoint(endpointId)
  if (!endpoint) {
    const message = `The endpoint ${endpointId} is no longer available. GET /api/agents lists the available endpoints.`
    return { kind: 'failed', error: { code: 'AGENT_UNAVAILABLE', message, details: '' } }
  }
  const charges = metering && new EventCharges(metering)
  let forbidding: Promise<void> | undefined
  /**
   * Resolves when the task can no longer be canceled. Rejects if the run is stopped first, so that no agent waits
   * forever.
   */
  const forbidCancel = () => (forbidding ??= Promise.race([onForbidCancel(), stopped(signal)]))
  const tokens = terms && new TaskTokens(terms)
  let paced: PacedProgress | undefined
  let hasEnded = false
  const progress: TaskRun['progress'] = (given) => {
    if (hasEnded || signal.aborted) return
    const pacer = (paced ??= new PacedProgress(onProgress))
    const json = encodeProgress(given)
    // Once the agent has charged for an event or called a connector, delay progress until the task can no longer be
    // canceled. Otherwise the user could read a result in the progress and then cancel for a refund.
    if (forbidding)
      void forbidding.then(
        () => pacer.note(json),
        () => {},
      )
    else pacer.note(json)
  }
  const charge: TaskRun['charge'] = (event, count = 1) => {
    if (hasEnded || signal.aborted)
      throw new Error('charge: the run has ended. Charge events before the handler returns')
    if (!charges)
      throw new Error('charge: this endpoint has a fixed price. Configure `pricing` instead of `priceUsd` for it')
    const charged = charges.charge(event, count)
    if (charged > 0) void forbidCancel().catch(() => {})
    return charged
  }
  let connectors: RunConnectors | undefined
  try {
    const params = (await endpoint.params.parseAsync(JSON.parse(request.params))) as Record<string, unknown>
    const reservedNames = catalogue.agent(endpoint.agentId)?.toolNames ?? []
    const waitMs = Math.min(placesWaitMsMax, timeoutMs - Math.min(connectorMarginMs, timeoutMs / 4))
    const waiting = new WaitingTime({ maxMs: endpoint.timeoutMs, onWaiting })
    const opening = openRunConnectors(request.connectors, { reservedNames, signal, waitMs, connect })
    const opened = opening instanceof Promise ? await waiting.measure(() => opening) : opening
    const forTask = taskConnectors(opened, { forbidCancel, signal, waiting })
    connectors = boundConnectors(forTask, endpoint.connectorTokensMax)
    const own = {
      params,
      connectors,
      userId,
      taskId,
      signal,
      log,
      progress,
      charge,
      metering,
      resultBytesMax,
      ...(tokens && { tokens }),
    }
    const result = await endpoint.run({ ...own, ...(traceparent !== undefined && { traceparent }) })
    // Charges are final only when the task can no longer be canceled, because canceling it refunds them.
    await forbidding
    hasEnded = true
    const outcome = encodeResult(result, resultBytesMax)
    const used = tokens && { tokens: tokens.use }
    if (outcome.kind === 'completed') return { ...outcome, ...(charges && { usage: charges.usage }), ...used }
    return outcome.kind === 'failed' ? { ...outcome, ...used } : outcome
  } catch (thrown) {
    // Report a connector's failure, even if the agent caught or wrapped the error.
    const cause: unknown = connectors?.failed.aborted ? connectors.failed.reason : thrown
    if (isInstance(cause, ConnectorsUnavailableError)) return { kind: 'interrupted', message: cause.message }
    return { kind: 'failed', error: describeThrown(thrown), ...(tokens && { tokens: tokens.use }) }
  } finally {
    hasEnded = true
    paced?.flush()
    // Do not await: connector servers may exit slowly.
    void connectors?.close()
  }
}

function stopped(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>()
  const stop = () => reject(new Error('The run was stopped.'))
  if (signal.aborted) stop()
  signal.addEventListener('abort', stop, { once: true })
  return promise
}
