import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Leftovers } from './run-folder.ts'

// Outlives a test run, even a killed one. When its input closes, it kills the run's remaining processes, removes its
// folders, and reports both. Arguments: the runner's process id, then the folders.

const [runner = '', ...folders] = process.argv.slice(2)
const roundsMax = 260
const roundMs = 50
/** Grace time for processes that are about to exit. On a busy machine, a browser takes more than two seconds. */
const graceRounds = 200

const isLeft = new Promise<void>((resolve) => {
  process.stdin.resume()
  process.stdin.once('close', resolve)
})
process.stdout.on('error', () => {})
await isLeft

const left = await endAll()
for (const point of mountPoints()) tryTo(() => execFileSync('umount', ['-l', point], { stdio: 'ignore' }))
const files = folders.flatMap((folder) => listed(folder))
for (const folder of folders) tryTo(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
const found: Leftovers = { processes: [...left.values()], files }
console.log(JSON.stringify(found))

/** Kills processes until none are left. Returns the command lines of those that did not exit by themselves in time. */
async function endAll(): Promise<Map<number, string>> {
  const killed = new Map<number, string>()
  for (let round = 0; round < roundsMax; round++) {
    const there = ofTheRun()
    if (there.length === 0) break
    if (round >= graceRounds || isKilledRun()) {
      for (const pid of there) {
        killed.set(pid, killed.get(pid) ?? commandOf(pid))
        tryTo(() => process.kill(pid, 'SIGKILL'))
      }
    }
    await delay(roundMs)
  }
  return killed
}

/** Whether the runner is dead, so that nothing else stops its processes. */
function isKilledRun(): boolean {
  return stateOf(Number(runner)) === undefined
}

function ofTheRun(): number[] {
  const all = listed('/proc')
    .map(Number)
    .filter((pid) => pid > 0 && pid !== process.pid && pid !== Number(runner))
    .flatMap((pid) => stateOf(pid) ?? [])
    .filter(({ state }) => state !== 'Z' && state !== 'X')
  const marked = new Set(all.filter(({ pid }) => isMarked(pid)).map(({ pid }) => pid))
  // Children of marked processes count as marked, regardless of their environment.
  for (let size = -1; size !== marked.size;) {
    size = marked.size
    for (const { parent, pid } of all) if (marked.has(parent)) marked.add(pid)
  }
  return [...marked]
}

function isMarked(pid: number): boolean {
  return (
    read(() => folders.some((folder) => readlinkSync(`/proc/${pid}/cwd`).startsWith(folder))) === true ||
    read(() => folders.some((folder) => readFileSync(`/proc/${pid}/environ`, 'latin1').includes(folder))) === true
  )
}

/** Reads the fields after the process name, which may contain any characters. */
function stateOf(pid: number): { pid: number; state: string; parent: number } | undefined {
  return read(() => {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const [state = '', parent = ''] = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return { pid, state, parent: Number(parent) }
  })
}

function commandOf(pid: number): string {
  return (
    read(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim().slice(0, 300)) ?? String(pid)
  )
}

function mountPoints(): string[] {
  const mounts = read(() => readFileSync('/proc/mounts', 'utf8')) ?? ''
  return mounts
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '')
    .filter((point) => folders.some((folder) => point.startsWith(join(folder, '/'))))
}

function listed(folder: string): string[] {
  return read(() => readdirSync(folder)) ?? []
}

/** Returns undefined for a process that has just exited or that this user cannot read. */
function read<Result>(look: () => Result): Result | undefined {
  try {
    return look()
  } catch {
    return undefined
  }
}

function tryTo(act: () => unknown): void {
  try {
    act()
  } catch {}
}
