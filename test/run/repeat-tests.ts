import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { fileURLToPath } from 'node:url'
import type { FailedTest } from './test-record.ts'

// `npm run test:repeat -- --times 5 --load 2`: repeats the small tier while busy loops run. Prints each test that
// failed at least once, with counts and reasons, and then exits with 1. Passes other arguments on to each run.

const { positionals, tokens, values } = parseArgs({
  allowPositionals: true,
  strict: false,
  tokens: true,
  options: { times: { type: 'string', default: '5' }, load: { type: 'string', default: '2' } },
})
const [times, load] = [wholeNumber('times', values['times']), wholeNumber('load', values['load'])]
const passedOn = tokens.flatMap((token) =>
  token.kind === 'option' && !['times', 'load'].includes(token.name)
    ? [token.rawName, ...(token.value ? [token.value] : [])]
    : [],
)
const runner = fileURLToPath(new URL('./run-tests.ts', import.meta.url))
const report = 'test/.output/repeat.json'

process.chdir(fileURLToPath(new URL('../../', import.meta.url)))
const loops = Array.from({ length: load }, () => spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }))
const endLoops = () => loops.forEach((loop) => loop.kill('SIGKILL'))
process.once('exit', endLoops)
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))

const failed = new Map<string, { times: number; message: string }>()
for (let n = 1; n <= times; n++) {
  rmSync(report, { force: true })
  const child = spawn(process.execPath, [runner, ...passedOn, ...positionals, '--report', report], { stdio: 'inherit' })
  const [code] = (await once(child, 'exit')) as [number | null]
  const { failures, tookSeconds } = readReport()
  for (const { message, test } of failures) failed.set(test, { message, times: (failed.get(test)?.times ?? 0) + 1 })
  console.log(
    `Run ${n} of ${times}, beside ${load} busy loops: ${tookSeconds.toFixed(0)} s, exit ${code}, ${failures.length} failed`,
  )
}
for (const [test, { message, times: often }] of failed)
  console.log(`failed ${often} of ${times} times: ${test}\n  ${message}`)
console.log(`${times} runs, ${failed.size} tests that failed at least once`)
process.exit(failed.size > 0 ? 1 : 0)

function readReport(): { failures: FailedTest[]; tookSeconds: number } {
  try {
    return JSON.parse(readFileSync(report, 'utf8')) as { failures: FailedTest[]; tookSeconds: number }
  } catch {
    return { failures: [{ test: 'the run itself', message: 'it left no report' }], tookSeconds: 0 }
  }
}

function wholeNumber(name: string, text: unknown): number {
  if (typeof text === 'string' && /^\d{1,3}$/.test(text)) return Number(text)
  console.error(`--${name} must be a whole number, from 0 to 999`)
  process.exit(2)
}
