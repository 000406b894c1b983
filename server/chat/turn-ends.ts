import type { RunOutcome } from '../agents/run-outcome.ts'

/** Why a turn is ended before its reply. */
export type StopCause = 'disconnect' | 'deleted' | 'timeout' | 'balance' | 'drain' | 'fault' | 'lost'

export function describeEnd(cause: StopCause | undefined, outcome: RunOutcome): { code: string; message: string } {
  if (outcome.kind === 'failed' && cause !== 'drain' && cause !== 'lost')
    return { code: 'AGENT_ERROR', message: outcome.error.message }
  switch (cause) {
    case 'fault':
      return { code: 'INTERNAL_ERROR', message: 'The service failed. Nothing was charged; send the message again.' }
    case 'balance':
      return { code: 'INSUFFICIENT_BALANCE', message: 'The balance does not cover more of this reply.' }
    case 'timeout':
      return { code: 'AGENT_TIMEOUT', message: 'The reply took longer than a chat may.' }
    case 'deleted':
      return { code: 'AGENT_INTERRUPTED', message: 'The session was deleted.' }
    case 'disconnect':
      return { code: 'AGENT_INTERRUPTED', message: 'The client left.' }
    case 'drain':
      return {
        code: 'AGENT_INTERRUPTED',
        message: 'The service is stopping. Nothing was charged; send the message again.',
      }
    case 'lost':
      return {
        code: 'AGENT_INTERRUPTED',
        message: 'The service was interrupted. Nothing was charged; send the message again.',
      }
    case undefined:
      return { code: 'AGENT_INTERRUPTED', message: outcome.kind === 'interrupted' ? outcome.message : 'Interrupted' }
  }
}
