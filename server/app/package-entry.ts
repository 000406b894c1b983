import type { ErrandConfig } from '../agents/config/define-config.ts'
import type { Errand, ErrandOptions } from './open-embedded.ts'

// Entry point of the package: functions for configuration files, and the service for use inside another server.

export * from '../agents/config/define-config.ts'
export type { Errand, ErrandOptions }

/**
 * Starts the service inside another server, which passes requests to it. All other settings come from `ERRAND_`
 * variables. If `config` is a path, pass the file's type: `createErrand<typeof config>`.
 */
export async function createErrand<const Config extends ErrandConfig = ErrandConfig>(
  options: ErrandOptions<Config>,
): Promise<Errand<Config>> {
  // Import lazily: agents import this package too, and they only need `defineConfig`.
  const { openEmbedded } = await import('./open-embedded.ts')
  return await openEmbedded(options)
}
