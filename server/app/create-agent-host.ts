import type { AgentHost, AgentLogLine } from '../agents/threads/agent-port.ts'
import type { Catalogue } from '../agents/config/catalogue.ts'
import { createInlineHost } from '../agents/threads/inline-host.ts'
import { ThreadHost } from '../agents/threads/thread-host.ts'
import { agentEnvironment, type Limits } from './config.ts'
import type { RenewToken } from '../connectors/connector-spec.ts'
import type { Logger } from '../kernel/logger.ts'

type AgentHostOptions = { configFile: string | null; limits: Limits; log: Logger }
type AgentHostParts = { catalogue: Catalogue; renewToken: RenewToken }

export function createAgentHost(
  { configFile, limits, log }: AgentHostOptions,
  { catalogue, renewToken }: AgentHostParts,
): AgentHost {
  const { agentThreads, agentThreadMemoryMb, maxReplyBytes, maxResultBytes } = limits
  const bytesMax = { replyBytesMax: maxReplyBytes, resultBytesMax: maxResultBytes }
  const connectorLimits = {
    processesMax: limits.maxConnectorProcesses,
    processesPerUserMax: limits.maxConnectorProcessesPerUser,
  }
  const onLog = ({ fields, message, runId }: AgentLogLine) =>
    log.info({ ...idField(runId), ...(fields && { fields }) }, message)
  if (configFile === null) return createInlineHost({ catalogue, connectorLimits, renewToken, ...bytesMax, onLog })
  return new ThreadHost({
    configFile,
    threads: agentThreads,
    memoryMb: agentThreadMemoryMb,
    ...bytesMax,
    connectorLimits,
    renewToken,
    env: agentEnvironment(),
    onLog,
    onWarning: (message) => log.warn({}, message),
  })
}

function idField(runId: string): { taskId?: string; turnId?: string } {
  if (runId === '') return {}
  return runId.startsWith('turn_') ? { turnId: runId } : { taskId: runId }
}
