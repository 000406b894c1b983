import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { postgresTests } from './test/run/postgres-tests.ts'
import { currentTier, onlyInAll, smallPostgres } from './test/run/tiers.ts'
import { partsLeftOut } from './test/support/test-parts.ts'

const isSmall = currentTier() === 'small'
const leftOut = isSmall ? Object.keys(onlyInAll) : []
const parts = partsLeftOut()

/** Files that replace a module of ours or of a library, for which each needs a process and Vite's loader. */
const mocking = ['test/api/{login-answers,login-throttle}.test.ts']
/** Files of a project share their workers and the modules in them, which Node loads itself: half of the time else. */
const shared = { isolate: false, experimental: { viteModuleRunner: false, nodeLoader: false } }
const leakCheck = 'test/support/leak-check.ts'

const projects = [
  {
    test: {
      ...shared,
      name: 'sqlite',
      include: ['test/**/*.test.ts'],
      exclude: [...postgresTests.only, ...mocking, ...leftOut, 'test/{e2e,faults,sim}/**'],
      setupFiles: [leakCheck],
    },
  },
  { test: { name: 'mocks', include: mocking, exclude: leftOut, setupFiles: [leakCheck] } },
  {
    test: {
      ...shared,
      name: 'postgres',
      include: isSmall ? [...smallPostgres] : [...postgresTests.only, ...postgresTests.too],
      exclude: [...Object.keys(postgresTests.never), ...mocking, ...leftOut],
      globalSetup: ['test/support/postgres-run.ts'],
      setupFiles: ['test/support/postgres-project.ts', leakCheck],
    },
  },
  {
    test: {
      ...shared,
      name: 'browser',
      include: ['test/e2e/*.test.ts'],
      exclude: leftOut,
      globalSetup: ['test/e2e/unpack-browser.ts'],
      setupFiles: [leakCheck],
    },
  },
  {
    test: { ...shared, name: 'faults', include: ['test/faults/*.test.ts'], exclude: leftOut, setupFiles: [leakCheck] },
  },
  { test: { ...shared, name: 'sim', include: ['test/sim/*.test.ts'], exclude: leftOut, setupFiles: [leakCheck] } },
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
