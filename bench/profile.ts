import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

// CPU profiles of the servers that a run starts, one file per thread. Sampling makes the servers slightly slower.

const functionsShown = 25
const sampleMicroseconds = 500
/** V8's name for samples in which the thread waits. */
const idle = '(idle)'

type Frame = { functionName: string; url: string; lineNumber: number }
type Profile = { nodes: { id: number; callFrame: Frame }[]; samples: number[]; timeDeltas: number[] }

let folder: string | undefined

export function startProfiling(): void {
  folder = mkdtempSync(join(tmpdir(), 'errand-bench-profiles-'))
}

export function profileOptions(): string[] {
  return folder === undefined
    ? []
    : ['--cpu-prof', `--cpu-prof-dir=${folder}`, `--cpu-prof-interval=${sampleMicroseconds}`]
}

export function printProfiles(): void {
  if (folder === undefined) return
  for (const name of readdirSync(folder).toSorted()) {
    const profile = JSON.parse(readFileSync(join(folder, name), 'utf8')) as Profile
    // The file name contains the process id, the thread id and a sequence number before its extension.
    const [pid, thread] = name.split('.').slice(3)
    printProfile(`process ${pid}, thread ${thread}`, profile)
  }
  rmSync(folder, { recursive: true, force: true })
}

function printProfile(title: string, { nodes, samples, timeDeltas }: Profile): void {
  const frames = new Map(nodes.map(({ callFrame, id }) => [id, callFrame]))
  const places = new Map<string, number>()
  const functions = new Map<string, number>()
  let busy = 0
  for (const [at, id] of samples.entries()) {
    const frame = frames.get(id)!
    const microseconds = timeDeltas[at]!
    if (frame.functionName === idle) continue
    busy += microseconds
    const place = placeOf(frame)
    add(places, place, microseconds)
    add(functions, `${frame.functionName || '(anonymous)'}  ${place}:${frame.lineNumber + 1}`, microseconds)
  }
  console.log(`\n${title}: ${(busy / 1e6).toFixed(1)} s of CPU`)
  for (const counts of [places, functions]) {
    const largest = [...counts].toSorted(([, a], [, b]) => b - a).slice(0, functionsShown)
    for (const [name, microseconds] of largest)
      console.log(`${((microseconds / busy) * 100).toFixed(1).padStart(6)} %  ${name}`)
    console.log('')
  }
}

function add(counts: Map<string, number>, name: string, microseconds: number): void {
  counts.set(name, (counts.get(name) ?? 0) + microseconds)
}

function placeOf({ functionName, url }: Frame): string {
  const dependency = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1]
  if (dependency !== undefined) return dependency
  const own = /\/((?:server|bench)\/.*)$/.exec(url)?.[1]
  return own ?? (url || (functionName.startsWith('(') ? functionName : 'native'))
}
