import type { System } from '../../../../client/client.ts'
import { countText } from '../../../parts/text/count-text.ts'

export type Problem = { title: string; isSerious: boolean; whatToDo: string }

/** Event-loop delay thresholds in milliseconds: p50 and p99 are worth a look, `serious` is noticeable to everyone. */
export const lateMs = { p50: 20, p99: 150, serious: 1000 }
const startSeconds = 60
/** The database writes back its log at 16 MB; it grows further only while something blocks that. */
export const walBytesMax = 128 * 1024 * 1024
const pendingMax = 500

/** Returns the service's problems, worst first, each with a remedy. */
export function findProblems(system: System): Problem[] {
  const problems = [...ledgerProblems(system), ...threadProblems(system), ...loadProblems(system)]
  return problems.toSorted((one, other) => Number(other.isSerious) - Number(one.isSerious))
}

/** True if the event loop lags. Ignores lag caused by the start. */
export function isLate({ eventLoopDelayMs: { p50, p99 }, uptimeSeconds }: System): boolean {
  return uptimeSeconds >= startSeconds && (p50 >= lateMs.p50 || p99 >= lateMs.p99)
}

function ledgerProblems({ ledger }: System): Problem[] {
  if (!ledger || ledger.ok) return []
  const { differences } = ledger
  return [
    {
      title: `The ledger does not add up: ${differences} ${differences === 1 ? 'difference' : 'differences'}`,
      isSerious: true,
      whatToDo:
        'Make a backup, then run “npm run errand -- ledger verify” on the server: it names each balance, transaction or ' +
        'task that differs. Balances were changed past the service, or the database is damaged.',
    },
  ]
}

function threadProblems({ agentThreads }: System): Problem[] {
  return agentThreads
    .filter(({ isResponding }) => !isResponding)
    .map(({ id, running }) => ({
      title: `Agent thread ${id} does not respond`,
      isSerious: true,
      whatToDo:
        running === 0
          ? 'It is replaced by itself within seconds. If this comes back, the log of the service says why.'
          : `An agent computes without a pause and holds up whatever else is in this thread (${running} in all). It is ` +
            'replaced when one of them runs out of time; find the agent by the tasks that are processing, and have it yield.',
    }))
}

function loadProblems(system: System): Problem[] {
  const { accepting, agents, database, eventLoopDelayMs: delay, tasks } = system
  const problems: Problem[] = []
  if (!accepting) {
    problems.push({
      title: 'The service is stopping',
      isSerious: false,
      whatToDo: 'It takes no new tasks and lets what runs finish. Start it again when it has ended.',
    })
  }
  if (agents.length === 0) {
    problems.push({
      title: 'No agents are configured',
      isSerious: false,
      whatToDo: 'Add an agent to errand.config.ts and restart the service.',
    })
  }
  if (accepting && tasks.pending > 0 && tasks.processing === 0) {
    problems.push({
      title: 'Tasks are waiting, and none is processing',
      isSerious: true,
      whatToDo:
        'If this stays for more than some seconds, see whether taskConcurrency is 0, and read the log of the service.',
    })
  } else if (tasks.pending >= pendingMax) {
    problems.push({
      title: `${countText(tasks.pending)} tasks are waiting`,
      isSerious: false,
      whatToDo:
        'They come in faster than they end. Raise taskConcurrency if the machine has room, or add agentThreads.',
    })
  }
  if (isLate(system)) {
    problems.push({
      title: 'Answers are late',
      isSerious: delay.p99 >= lateMs.serious,
      whatToDo:
        'Something keeps the serving thread from its work. Look at the load of the machine, and whether agents run in ' +
        'threads of their own.',
    })
  }
  if (database.walBytes >= walBytesMax) {
    problems.push({
      title: 'The log of the database has grown',
      isSerious: false,
      whatToDo: 'Something reads the database for long, such as a backup or another program; the log shrinks after it.',
    })
  }
  return problems
}
