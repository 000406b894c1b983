import { isoTime } from '../kernel/clock.ts'
import type { Common } from './command-options.ts'
import { print, withStore } from './open-store.ts'

export async function listNodes(options: Common): Promise<void> {
  const states = await withStore(options, (store) => store.listNodes())
  const nodes = states.map(({ host, pid, seenAt, startedAt, ...rest }) => ({
    id: pid === null ? host : `${host}:${pid}`,
    host,
    pid,
    ...rest,
    startedAt: startedAt === null ? null : isoTime(startedAt),
    lastSeenAt: isoTime(seenAt),
  }))
  const lines = nodes.map(({ id, lastSeenAt, openTurns, runningTasks, startedAt, version }) =>
    [
      id,
      version ?? 'unknown version',
      `since ${startedAt ?? 'an unknown time'}`,
      `last seen ${lastSeenAt}`,
      `${runningTasks} running tasks`,
      `${openTurns} open chats`,
    ].join('  '),
  )
  print(options, { nodes }, lines.join('\n') || 'No server is running.')
}
