import type { TestProject } from 'vitest/node'
import { startPostgres } from './postgres-server.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The PostgreSQL server of this run. */
    postgresUrl: string
    /** Where there is none: why. */
    postgresSkipped: string
  }
}

/** Starts the server that all test files of the project share; called only when one of them is to run. */
export default async function startForRun(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const server = await startPostgres()
  if ('skipped' in server) {
    console.warn(`Tests on PostgreSQL are skipped: ${server.skipped}`)
    project.provide('postgresSkipped', server.skipped)
    // No test matches, so each counts as skipped and no hook is run.
    project.config.testNamePattern = /^(?!)/
    return undefined
  }
  project.provide('postgresUrl', server.url)
  return () => server.stop()
}
