import { placesWaitMsMax } from '../../connectors/connector-bounds.ts'
import { ConnectorsUnavailableError } from '../../connectors/connector-spec.ts'
import { openRunConnectors, type Connect, type RunConnectors } from '../../connectors/thread/run-connectors.ts'
import { boundConnectors } from './bound-connectors.ts'
import type { Catalogue } from '../config/catalogue.ts'
import type { AgentLog } from '../config/define-config.ts'
import { describeThrown, encodeResult, isInstance, type RunOutcome, type TaskRequest } from './run-outcome.ts'

type ExecuteTask = {
  catalogue: Catalogue
  request: TaskRequest
  signal: AbortSignal
  log: AgentLog
  resultBytesMax: number
  connect: Connect
}

/** A run that waits for room says so a little before its time is up, so that it does not end as if its agent were late. */
const sayMs = 1000

/** Runs an endpoint in this thread. Never throws; whatever the agent does becomes an outcome. */
export async function executeTask({
  catalogue,
  request,
  signal,
  log,
  connect,
  resultBytesMax,
}: ExecuteTask): Promise<RunOutcome> {
  const { endpointId, taskId, timeoutMs, traceparent, userId } = request
  const endpoint = catalogue.endpoint(endpointId)
  if (!endpoint) {
    const message = `The endpoint ${endpointId} is not in the configuration.`
    return { kind: 'failed', error: { code: 'AGENT_UNAVAILABLE', message, details: '' } }
  }
  let connectors: RunConnectors | undefined
  try {
    const params = (await endpoint.params.parseAsync(JSON.parse(request.params))) as Record<string, unknown>
    const reservedNames = catalogue.agent(endpoint.agentId)?.toolNames ?? []
    const waitMs = Math.min(placesWaitMsMax, timeoutMs - Math.min(sayMs, timeoutMs / 4))
    const opened = await openRunConnectors(request.connectors, { reservedNames, signal, waitMs, connect })
    connectors = boundConnectors(opened, endpoint.connectorTokensMax)
    const run = { params, connectors, userId, taskId, signal, log, ...(traceparent !== undefined && { traceparent }) }
    return encodeResult(await endpoint.run(run), resultBytesMax)
  } catch (thrown) {
    // Whatever the agent made of it.
    const cause: unknown = connectors?.failed.aborted ? connectors.failed.reason : thrown
    if (isInstance(cause, ConnectorsUnavailableError)) return { kind: 'interrupted', message: cause.message }
    return { kind: 'failed', error: describeThrown(thrown) }
  } finally {
    // Nobody waits for servers to end.
    void connectors?.close()
  }
}
