import { ConnectorBounds, type ProcessLimits } from '../../connectors/connector-bounds.ts'
import type { RenewToken } from '../../connectors/connector-spec.ts'
import { probeConnector } from '../../connectors/thread/probe-connector.ts'
import type { Connect } from '../../connectors/thread/run-connectors.ts'
import type { AgentHost, AgentLogLine } from './agent-port.ts'
import type { Catalogue } from '../config/catalogue.ts'
import { countTokens, loadForModels } from '../run/count-tokens.ts'
import { CreditWindow } from '../run/credit-window.ts'
import { executeChat } from '../run/execute-chat.ts'
import { executeTask } from '../run/execute-task.ts'
import { logLine } from '../run/log-line.ts'
import type { ChatStop, RunOutcome } from '../run/run-outcome.ts'

type InlineHostOptions = {
  catalogue: Catalogue
  replyBytesMax: number
  resultBytesMax: number
  connectorLimits: ProcessLimits
  renewToken: RenewToken
  onLog: (line: AgentLogLine) => void
}

/**
 * Runs agents in the caller's thread, for programs that embed the service with an in-memory configuration. An agent
 * that blocks also blocks the service, and one that exits ends the process, so servers use agent threads instead.
 */
export function createInlineHost(options: InlineHostOptions): AgentHost {
  const { catalogue, connectorLimits, onLog, renewToken: renew, replyBytesMax, resultBytesMax } = options
  void loadForModels(catalogue)
  const means = { bounds: new ConnectorBounds(connectorLimits), renew }
  const connect: Connect = async (specs, opening) => {
    // Import lazily: the MCP client is slow to load, and most runs do not need it.
    const { openConnectors } = await import('../../connectors/thread/open-connectors.ts')
    return await openConnectors(specs, { ...opening, ...means })
  }
  return {
    isReady: true,
    ready: async () => {},
    runTask: (request, { onForbidCancel, onLog: onRunLog, onProgress, onWaiting, signal }) => {
      if (signal.aborted) return Promise.resolve(signal.reason as RunOutcome)
      const { taskId } = request
      const log = (message: string, fields?: Record<string, unknown>) => {
        const line = { runId: taskId, ...logLine(message, fields) }
        onLog(line)
        onRunLog?.(line)
      }
      const aborted = new Promise<RunOutcome>((resolve) => {
        signal.addEventListener('abort', () => resolve(signal.reason as RunOutcome), { once: true })
      })
      const host = { onForbidCancel, onProgress, onWaiting }
      const run = executeTask({ catalogue, request, signal, log, connect, resultBytesMax, ...host })
      return Promise.race([aborted, run])
    },
    runChat: (request, { onBatch, onStep, signal }) => {
      const window = new CreditWindow()
      const log = (message: string, fields?: Record<string, unknown>) =>
        onLog({ runId: request.turnId, message, ...(fields && { fields }) })
      const outcome = executeChat({
        catalogue,
        request,
        signal,
        readOnMs: () => (signal.reason as ChatStop).readOnMs,
        log,
        replyBytesMax,
        connect,
        window,
        askStep: onStep,
        // Flushing here has no effect, because a blocking agent also blocks the rest of this process.
        onResume: () => {},
        onDirty: (take) => setImmediate(() => take().forEach(onBatch)),
        onStillRunning: () =>
          onLog({ runId: request.turnId, message: 'An agent is still running after its turn was stopped.' }),
      })
      return { outcome: outcome.then(afterBatches), credit: (chars) => window.credit(chars) }
    },
    countTokens: (text) => countTokens([text]),
    probe: (request, signal) => probeConnector(request, { signal, ...means }),
    prepare: () =>
      Promise.reject(
        new Error(
          'A configuration passed as an object cannot be reloaded. Pass the path of a configuration file instead.',
        ),
      ),
    threads: () => [],
    close: async () => {},
  }
}

/** Delays the outcome until the end of the tick, when the last batch has been sent. */
function afterBatches(outcome: RunOutcome): Promise<RunOutcome> {
  return new Promise((resolve) => setImmediate(() => resolve(outcome)))
}
