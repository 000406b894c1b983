import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { currentTier } from './test/run/tiers.ts'
import { partsLeftOut } from './test/support/test-parts.ts'

const isSmall = currentTier() === 'small'
const parts = partsLeftOut()

// Folders decide which tests run where; docs/internals/testing.md has the rules.
const long = isSmall ? ['test/**/long/**'] : []
const mocks = 'test/**/mocks/*.test.ts'
const postgresOnly = ['test/nodes/**/*.test.ts', 'test/**/postgres/*.test.ts']
const services = 'test/{api,chat,connectors,login,mails,mcp,openai,property,runner,sign-ins,webhooks}/**/*.test.ts'

/** Files of a project share their workers and the modules in them, which Node loads itself: half of the time else. */
const shared = { isolate: false, experimental: { viteModuleRunner: false, nodeLoader: false } }
const leakCheck = 'test/support/leak-check.ts'

const projects = [
  {
    test: {
      ...shared,
      name: 'sqlite',
      include: ['test/**/*.test.ts'],
      exclude: [...postgresOnly, mocks, ...long, 'test/{e2e,faults,sim}/**'],
      setupFiles: [leakCheck],
    },
  },
  { test: { name: 'mocks', include: [mocks], exclude: long, setupFiles: [leakCheck] } },
  {
    test: {
      ...shared,
      name: 'postgres',
      include: [...postgresOnly, isSmall ? 'test/**/engines/*.test.ts' : services],
      exclude: ['test/**/sqlite/**', mocks, ...long],
      globalSetup: ['test/support/postgres-run.ts'],
      setupFiles: ['test/support/postgres-project.ts', leakCheck],
    },
  },
  {
    test: {
      ...shared,
      name: 'browser',
      include: ['test/e2e/**/*.test.ts'],
      exclude: long,
      globalSetup: ['test/e2e/unpack-browser.ts'],
      setupFiles: [leakCheck],
    },
  },
  {
    test: { ...shared, name: 'faults', include: ['test/faults/**/*.test.ts'], exclude: long, setupFiles: [leakCheck] },
  },
  { test: { ...shared, name: 'sim', include: ['test/sim/**/*.test.ts'], exclude: long, setupFiles: [leakCheck] } },
]

export default defineConfig({
  test: {
    // A test that hangs ends; how fast something is, no test says. Many start processes, on whatever else the machine does.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 20_000 } },
    pool: 'forks',
    // Much of the time is waiting: for a timeout, a lease, a process, a browser.
    maxWorkers: availableParallelism() + 1,
    projects: projects.filter(({ test: { name } }) => !parts.has(name as never)),
  },
})
