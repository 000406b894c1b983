import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Command, InvalidArgumentError } from 'commander'
import { elsewhere, faults } from './fault-list.ts'
import type { Fault, FaultReport } from './fault-report.ts'

// `npm run faults`: the long form of every fault. Exits with 1 if a check failed. Saves the results so far to a file,
// from which an interrupted run resumes.

type Options = { only?: string[]; times?: number; seed?: number; short?: boolean; resume?: boolean; report: string }
type Saved = { seed: number; finished: string[]; reports: FaultReport[] }

const defaultFile = fileURLToPath(new URL('../.output/faults.json', import.meta.url))
const progressMs = 30_000

function wholeNumber(text: string): number {
  if (!/^\d{1,10}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.')
  return Number(text)
}

const names = Object.keys(faults)
const options = new Command('npm run faults --')
  .description('Breaks real servers in every way that this machine can, and reports what held.')
  .option('--only <name>', `one of ${names.join(', ')}; may be repeated`, (name: string, all: string[] | undefined) => {
    if (!names.includes(name)) throw new InvalidArgumentError(`It must be one of ${names.join(', ')}.`)
    return [...(all ?? []), name]
  })
  .option('--times <n>', 'how often each fault is made', wholeNumber)
  .option('--seed <n>', 'repeats the random choices of a run', wholeNumber)
  .option('--short', 'the form that npm run test:all runs')
  .option('--report <file>', 'where the report is kept, as JSON', defaultFile)
  .option('--resume', 'goes on with the run of that report: with its seed, without what it has finished')
  .parse()
  .opts<Options>()

function row(report: FaultReport): string {
  const { fault, held, missing, seconds, tries } = report
  const outcome = missing ? `without ${missing.part}: ${missing.reason}` : `${held} of ${tries} held`
  return `${fault.padEnd(16)} ${outcome.padEnd(24)} ${seconds.toFixed(0).padStart(6)} s`
}

function underWay({ figures }: FaultReport): string {
  return figures?.underWay ? `, and ${figures.underWay} in parts that are not over` : ''
}

function startingPoint(): Saved {
  if (options.resume) {
    if (existsSync(options.report)) return JSON.parse(readFileSync(options.report, 'utf8')) as Saved
    console.error(`There is no run to go on with: ${options.report} does not exist.`)
    process.exit(1)
  }
  return { seed: options.seed ?? Math.floor(Math.random() * 2 ** 32), finished: [], reports: [] }
}

const saved = startingPoint()
// Exiting normally also stops the servers of an interrupted run.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))
mkdirSync(dirname(options.report), { recursive: true })

function save(report: FaultReport): void {
  saved.reports = [...saved.reports.filter(({ fault }) => fault !== report.fault), report]
  writeFileSync(options.report, JSON.stringify(saved, null, 2))
}

console.log(`seed ${saved.seed}; the report is kept in ${options.report}`)
for (const [name, fault] of Object.entries<Fault>(faults)) {
  if ((options.only && !options.only.includes(name)) || saved.finished.includes(name)) continue
  console.log(`${name}: ${fault.what} …`)
  const earlier = saved.reports.find((report) => report.fault === name)
  let shownAt = performance.now()
  const report = await fault.run({
    times: options.times ?? (options.short ? fault.times.short : fault.times.long),
    seed: saved.seed,
    ...(options.short && { isShort: true }),
    ...(earlier && { earlier }),
    onProgress: (soFar) => {
      save(soFar)
      if (performance.now() - shownAt < progressMs) return
      shownAt = performance.now()
      console.log(`    so far: ${row(soFar)}${underWay(soFar)}`)
    },
  })
  saved.finished.push(name)
  save(report)
  console.log(row(report))
  for (const note of report.notes) console.log(`    ${note}`)
  for (const gap of report.gaps) console.log(`    NOT MET: ${gap}`)
  for (const failure of report.failures) console.log(`    FAILED: ${failure}`)
}

const { reports } = saved
console.log(`\n${reports.map(row).join('\n')}`)
for (const [fault, where] of elsewhere) console.log(`${fault}: ${where}`)
for (const { fault, gaps } of reports) for (const gap of gaps) console.log(`not met: ${fault}: ${gap}`)
const failed = reports.filter(({ failures }) => failures.length > 0)
console.log(
  failed.length === 0
    ? 'Everything that was tried held.'
    : `Did not hold: ${failed.map(({ fault }) => fault).join(', ')}`,
)
process.exit(failed.length === 0 ? 0 : 1)
