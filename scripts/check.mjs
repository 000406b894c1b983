// `npm run check`: the static checks, then the tests of layering, style and drift.
import { run, runChecks } from './checks.mjs'

const { failed } = await runChecks()
const pins = await run('vitest', ['run', 'test/pins'])
process.exit(failed > 0 || pins !== 0 ? 1 : 0)
