import { startVitest } from 'vitest/node'
import { printChecks, runStaticChecks } from './static-checks.ts'

// `npm run check`: the static checks, then the tests of layering, style and drift.

const results = await runStaticChecks()
printChecks(results)
const vitest = await startVitest(['test/pins'], { run: true })
await vitest.close()
process.exit(results.every(({ isPassed }) => isPassed) && process.exitCode !== 1 ? 0 : 1)
