import type { Errand, ErrandOptions } from './open-embedded.ts'

// Entry of the package: the configuration's functions, and the service for other servers.

export * from '../agents/config/define-config.ts'
export type { Errand, ErrandOptions }

/** Starts a service whose requests another server passes on. Settings other than the options come from `ERRAND_` variables. */
export async function createErrand(options: ErrandOptions): Promise<Errand> {
  // Loaded on demand, because agents import this package too, and need only `defineConfig`.
  const { openEmbedded } = await import('./open-embedded.ts')
  return await openEmbedded(options)
}
