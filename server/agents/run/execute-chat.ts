import { placesWaitMsMax as waitMs } from '../../connectors/connector-bounds.ts'
import { openRunConnectors, type Connect } from '../../connectors/thread/run-connectors.ts'
import type { Catalogue } from '../config/catalogue.ts'
import { executeReply, type ExecuteReply } from './execute-reply.ts'
import { ReplyError } from './reply-stream.ts'
import { describeThrown, isInstance, type RunOutcome } from './run-outcome.ts'

type ExecuteChat = Omit<ExecuteReply, 'config' | 'openConnectors'> & { catalogue: Catalogue; connect: Connect }

/** Generates the reply of a turn in this thread. Never throws: every failure becomes an outcome. */
export async function executeChat({ catalogue, connect, ...chat }: ExecuteChat): Promise<RunOutcome> {
  const { request, signal } = chat
  const agent = catalogue.agent(request.agentId)
  const config = agent?.chat
  if (!config) {
    const message = `The agent ${request.agentId} no longer supports chat. Start a session with another agent.`
    return { kind: 'failed', error: { code: 'AGENT_ERROR', message, details: '' } }
  }
  const opening = { reservedNames: agent.toolNames, signal, waitMs, connect }
  const openConnectors = () => openRunConnectors(request.connectors, opening)
  const outcome = await executeReply({ ...chat, config, openConnectors })
  if (outcome.kind === 'completed') return { kind: 'completed', json: JSON.stringify(outcome.summary) }
  if (outcome.kind === 'interrupted') return outcome
  const { owed, thrown } = outcome
  return { kind: 'failed', error: describeReplyError(thrown), ...(owed && { owed }) }
}

function describeReplyError(thrown: unknown) {
  const error = describeThrown(thrown)
  return isInstance(thrown, ReplyError) ? { ...error, code: 'AGENT_ERROR', details: '' } : error
}
