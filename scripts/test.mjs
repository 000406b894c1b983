// `npm test`: every check and every test. The last line counts them: `N passed, N failed, N skipped`.
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { run, runChecks } from './checks.mjs'

const report = 'test/.output/report.json'
mkdirSync('test/.output', { recursive: true })
rmSync(report, { force: true })

const checks = await runChecks()
const code = await run('vitest', ['run', '--reporter=default', '--reporter=json', `--outputFile.json=${report}`])
const tests = readReport()
const passed = checks.passed + tests.passed
// A runner that fails without a failed test (an error outside of one) is a failure too.
const failed = checks.failed + Math.max(tests.failed, code === 0 ? 0 : 1)
console.log(`${passed} passed, ${failed} failed, ${tests.skipped} skipped`)
process.exit(failed > 0 ? 1 : 0)

function readReport() {
  try {
    const { numFailedTests, numPassedTests, numPendingTests, numTodoTests } = JSON.parse(readFileSync(report, 'utf8'))
    return { passed: numPassedTests, failed: numFailedTests, skipped: numPendingTests + numTodoTests }
  } catch {
    return { passed: 0, failed: 1, skipped: 0 }
  }
}
