import { setMaxListeners } from 'node:events'
import { setPriority } from 'node:os'
import type { Attack } from './hostile-attack.ts'
import { attacks, type AttackName } from './hostile-attacks.ts'
import { HostileClient, type HostileUser } from './hostile-client.ts'
import { startHostileServers, type HostileServers } from './hostile-servers.ts'

// Attackers of the hostile run, in a forked process with an IPC channel. It reports its servers' URLs and receives one
// `AttackOrder`. Each further message names attacks and their duration, and the reply counts their responses by kind.
// It runs at low priority, so that it uses only spare CPU time.

export type AttackOrder = {
  type: 'order'
  url: string
  isShort: boolean
  users: Record<AttackName, HostileUser[]>
}
export type AttackPhase = { type: 'attack'; names: AttackName[]; ms: number }
export type FromAttackers =
  | { type: 'servers'; servers: HostileServers }
  | { type: 'over'; answers: Partial<Record<AttackName, Record<string, number>>> }

const niceness = 10
/** Time for requests still in flight at the end of a phase. */
const endMsMax = 10_000

const servers = await startHostileServers()
const going = new Map<AttackName, Attack>()
const prepared = new Set<AttackName>()
let order: AttackOrder

async function attack(name: AttackName, answers: Record<string, number>, signal: AbortSignal): Promise<void> {
  const of = going.get(name) ?? attacks[name]()
  going.set(name, of)
  const { isShort, url } = order
  const client = new HostileClient({
    url,
    isShort,
    signal,
    answers,
    users: order.users[name],
    mcpHost: servers.mcpHost,
  })
  try {
    if (!prepared.has(name)) await of.prepare?.(client)
    prepared.add(name)
    while (!signal.aborted) {
      await of.round(client)
      client.count('rounds')
      await client.pause(of.restMs)
    }
  } catch (error) {
    client.count(`the attack failed: ${error instanceof Error ? error.stack : String(error)}`)
  }
}

async function carryOut({ ms, names }: AttackPhase): Promise<void> {
  const over = new AbortController()
  setMaxListeners(0, over.signal)
  const timer = setTimeout(() => over.abort(), ms)
  const answers = Object.fromEntries(names.map((name) => [name, {}])) as Record<AttackName, Record<string, number>>
  const work = Promise.all(names.map((name) => attack(name, answers[name], over.signal)))
  let late: NodeJS.Timeout | undefined
  const tooLate = new Promise((resolve) => (late = setTimeout(resolve, ms + endMsMax)))
  await Promise.race([work, tooLate])
  clearTimeout(timer)
  clearTimeout(late)
  over.abort()
  process.send!({ type: 'over', answers } satisfies FromAttackers)
}

process.on('message', (message: AttackOrder | AttackPhase) => {
  if (message.type === 'attack') return void carryOut(message)
  order = message
  // Keeps normal priority in the short form, because the tests that run at the same time would leave no CPU time.
  if (!order.isShort) setPriority(niceness)
})
process.once('disconnect', () => process.exit(0))
process.send!({ type: 'servers', servers } satisfies FromAttackers)
