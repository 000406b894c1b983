import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { postgresTests } from './test/support/postgres-tests.ts'

export default defineConfig({
  test: {
    // A test that hangs ends; how fast something is, no test says. Many start processes, on whatever else the machine does.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 20_000 } },
    // Real servers, databases and threads: a file at a time per core.
    pool: 'forks',
    maxWorkers: availableParallelism(),
    projects: [
      {
        test: {
          name: 'sqlite',
          include: ['test/**/*.test.ts'],
          exclude: postgresTests.only,
          setupFiles: ['test/support/leak-check.ts'],
        },
      },
      {
        test: {
          name: 'postgres',
          include: [...postgresTests.only, ...postgresTests.too],
          exclude: Object.keys(postgresTests.never),
          globalSetup: ['test/support/postgres-run.ts'],
          setupFiles: ['test/support/postgres-project.ts', 'test/support/leak-check.ts'],
        },
      },
    ],
  },
})
