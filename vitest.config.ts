import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { postgresTests } from './test/support/postgres-tests.ts'

export default defineConfig({
  test: {
    testTimeout: 30_000,
    hookTimeout: 30_000,
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
          // Each statement goes over a connection to another process, which waits for its turn where many run.
          testTimeout: 60_000,
          globalSetup: ['test/support/postgres-run.ts'],
          setupFiles: ['test/support/postgres-project.ts', 'test/support/leak-check.ts'],
        },
      },
    ],
  },
})
