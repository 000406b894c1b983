import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 30_000,
    hookTimeout: 30_000,
    // Real servers, databases and threads: a file at a time per core.
    pool: 'forks',
    maxWorkers: availableParallelism(),
    setupFiles: ['test/support/leak-check.ts'],
  },
})
