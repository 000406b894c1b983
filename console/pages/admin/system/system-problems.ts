import type { System } from '../../../../client/client.ts'
import { countText } from '../../../parts/text/count-text.ts'

export type Problem = { title: string; isSerious: boolean; whatToDo: string }

/**
 * Event-loop delay thresholds in milliseconds. Delays above `p50` or `p99` deserve attention. Every user notices a
 * delay above `serious`.
 */
export const lateMs = { p50: 20, p99: 150, serious: 1000 }
const startSeconds = 60
/** SQLite checkpoints its WAL at 16 MB. The WAL grows further only while something blocks the checkpoint. */
export const walBytesMax = 128 * 1024 * 1024
const pendingMax = 500

export function findProblems(system: System): Problem[] {
  const problems = [
    ...ledgerProblems(system),
    ...threadProblems(system),
    ...loadProblems(system),
    ...mailProblems(system),
  ]
  return problems.toSorted((one, other) => Number(other.isSerious) - Number(one.isSerious))
}

/** Whether the event loop lags. Ignores lag during startup. */
export function isLate({ eventLoopDelayMs: { p50, p99 }, uptimeSeconds }: System): boolean {
  return uptimeSeconds >= startSeconds && (p50 >= lateMs.p50 || p99 >= lateMs.p99)
}

function ledgerProblems({ ledger }: System): Problem[] {
  if (!ledger || ledger.ok) return []
  const { differences } = ledger
  return [
    {
      title: `The ledger check found ${differences} ${differences === 1 ? 'difference' : 'differences'}`,
      isSerious: true,
      whatToDo:
        'The database was changed outside the service or is damaged. Make a backup, then run ' +
        '“npm run errand -- ledger verify” on the server to list the differences.',
    },
  ]
}

function mailProblems({ mail }: System): Problem[] {
  if (!mail?.lastError || mail.waiting === 0) return []
  return [
    {
      title: `Email is delayed: ${countText(mail.waiting)} waiting`,
      isSerious: false,
      whatToDo:
        'The service retries automatically. Check the last error below, and send a test email with “npm run errand -- mail test ADDRESS”.',
    },
  ]
}

function threadProblems({ agentThreads }: System): Problem[] {
  return agentThreads
    .filter(({ isResponding }) => !isResponding)
    .map(({ id, running }) => ({
      title: `Agent thread ${id} is not responding`,
      isSerious: true,
      whatToDo:
        running === 0
          ? 'The thread is replaced automatically within seconds. If this happens again, check the service log.'
          : `An agent is blocking all runs in this thread (${running} in total). The thread is replaced when one of them ` +
            'times out. Find the agent among the running tasks, and make its code yield to the event loop.',
    }))
}

function loadProblems(system: System): Problem[] {
  const { accepting, agents, database, eventLoopDelayMs: delay, tasks } = system
  const problems: Problem[] = []
  if (!accepting) {
    problems.push({
      title: 'The service is stopping',
      isSerious: false,
      whatToDo: 'The service rejects new tasks and lets running tasks finish. Start it again after it has stopped.',
    })
  }
  if (agents.length === 0) {
    problems.push({
      title: 'No agents configured',
      isSerious: false,
      whatToDo: 'Add an agent to errand.config.ts and restart the service.',
    })
  }
  if (accepting && tasks.pending > 0 && tasks.processing === 0) {
    problems.push({
      title: 'Tasks are queued, but none are running',
      isSerious: true,
      whatToDo: 'If this lasts more than a few seconds, check that taskConcurrency is not 0 and read the service log.',
    })
  } else if (tasks.pending >= pendingMax) {
    problems.push({
      title: `${countText(tasks.pending)} tasks are queued`,
      isSerious: false,
      whatToDo:
        'Tasks arrive faster than they finish. Raise taskConcurrency or agentThreads if the machine has capacity.',
    })
  }
  if (isLate(system)) {
    problems.push({
      title: 'Responses are slow',
      isSerious: delay.p99 >= lateMs.serious,
      whatToDo:
        'The main thread is blocked. Check the load on the machine and whether agents run in their own threads.',
    })
  }
  if (database.walBytes >= walBytesMax) {
    problems.push({
      title: 'The database log has grown too large',
      isSerious: false,
      whatToDo:
        'A long-running read, for example by a backup, is preventing the log from shrinking. The log will shrink when the read ends.',
    })
  }
  return problems
}
