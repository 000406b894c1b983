import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { startVitest } from 'vitest/node'
import { partsLeftOut } from '../support/test-parts.ts'
import { ProcessorShare } from './processor-time.ts'
import { compileCache, openRunFolder, type Leftovers } from './run-folder.ts'
import { printChecks, runStaticChecks, type CheckResult } from './static-checks.ts'
import { TestRecord } from './test-record.ts'
import { budgets, runSecondsMax, tierVariable, type Tier } from './tiers.ts'

// `npm test` and its longer forms: `[--all] [--project NAME] [--report FILE] [FILE]`. The last line counts all tests:
// `N passed, N failed, N skipped`.

const { positionals: filters, values } = parseArgs({
  allowPositionals: true,
  options: {
    all: { type: 'boolean', default: false },
    project: { type: 'string', multiple: true },
    report: { type: 'string' },
  },
})
const tier: Tier = values.all ? 'all' : 'small'
/** A partial run has neither static checks nor a time budget. */
const isWhole = values.project === undefined && filters.length === 0
const slowestShown = 10
const leastShare = 0.2

process.chdir(fileURLToPath(new URL('../../', import.meta.url)))
try {
  partsLeftOut()
} catch (error) {
  console.error((error as Error).message)
  process.exit(2)
}
const folder = openRunFolder()
Object.assign(process.env, folder.env, { [tierVariable]: tier })

const record = new TestRecord()
const problems: string[] = []
const startedAt = performance.now()
const processors = new ProcessorShare(folder.env['TMPDIR']!)
const limit = setTimeout(() => void breakOff(), runSecondsMax[tier] * 1000)

const checking = isWhole ? runStaticChecks() : Promise.resolve([])
const vitest = await startVitest(filters, {
  run: true,
  reporters: ['default', record],
  ...(values.project && { project: values.project }),
})
await vitest.close()
// Vitest itself failed, for example in a project's setup, and has already printed the reason.
if (process.exitCode === 1 && record.failures.length === 0) problems.push('the tests could not be run')
const tookSeconds = (performance.now() - startedAt) / 1000
const checks = await checking
clearTimeout(limit)
checkBudgets()
await finish(checks)

function checkBudgets(): void {
  const share = Math.max(leastShare, 1 - processors.ofOthers())
  const { fileSeconds, runSeconds } = budgets[tier]
  const slowest = record.files.toSorted((a, b) => b.seconds - a.seconds)
  console.log(`\nThe slowest files of ${record.files.length}, in seconds:`)
  for (const { file, seconds } of slowest.slice(0, slowestShown))
    console.log(`${seconds.toFixed(1).padStart(7)}  ${file}`)
  console.log(
    `${tookSeconds.toFixed(0)} s in all, of ${runSeconds} on an idle machine; others had ${(100 - share * 100).toFixed(0)} % of the processors.`,
  )
  if (isWhole && tookSeconds * share > runSeconds)
    problems.push(
      `over budget: ${tookSeconds.toFixed(0)} s × ${share.toFixed(2)}, of ${runSeconds} s for the tier ${tier}`,
    )
  for (const { file, seconds } of slowest) {
    if (seconds * share > fileSeconds)
      problems.push(
        `over budget: ${file} took ${seconds.toFixed(0)} s × ${share.toFixed(2)}, of ${fileSeconds} s for a file`,
      )
  }
}

async function breakOff(): Promise<void> {
  problems.push(
    `not over after ${runSecondsMax[tier]} s: ${[...record.atWork.keys()].join(', ') || 'no file is at work'}`,
  )
  await finish([])
}

async function finish(checks: readonly CheckResult[]): Promise<never> {
  printChecks(checks)
  noteLeftovers(await folder.close())
  for (const reason of record.reasons) console.log(`skipped: ${reason}`)
  for (const part of partsLeftOut()) console.log(`left out: ${part}`)
  for (const problem of problems) console.log(`FAILED: ${problem}`)
  const failedChecks = checks.filter(({ isPassed }) => !isPassed)
  const failed = record.failures.length + failedChecks.length + problems.length
  if (values.report !== undefined) {
    mkdirSync(dirname(join(process.cwd(), values.report)), { recursive: true })
    const own = [
      ...failedChecks.map(({ name, output }) => ({ test: name, message: output })),
      ...problems.map((test) => ({ test, message: '' })),
    ]
    writeFileSync(
      values.report,
      JSON.stringify({ failures: [...record.failures, ...own], tookSeconds, files: record.files }),
    )
  }
  console.log(
    `${record.passed + checks.length - failedChecks.length} passed, ${failed} failed, ${record.skipped} skipped`,
  )
  process.exit(failed > 0 ? 1 : 0)
}

function noteLeftovers({ files, processes }: Leftovers): void {
  for (const process of processes) problems.push(`left running when the tests had ended: ${process}`)
  // The compile cache belongs to the run. Chromium's scratch files are removed with its worker.
  const left = files.filter((file) => file !== compileCache && !/^(?:playwright|\.org\.chromium)/.test(file))
  if (left.length > 0) problems.push(`left in the temporary folder: ${left.join(', ')}`)
}
