import type { ErrandConfig } from '../agents/config/define-config.ts'
import type { Errand, ErrandOptions } from './open-embedded.ts'

// Entry point of the package. Exports the functions for configuration files, and the service for use in other servers.

export * from '../agents/config/define-config.ts'
export type { Errand, ErrandOptions }

/**
 * Starts a service to which another server passes requests. All other settings come from `ERRAND_` variables. With the
 * path of a configuration file, pass the file's type: `createErrand<typeof config>`.
 */
export async function createErrand<const Config extends ErrandConfig = ErrandConfig>(
  options: ErrandOptions<Config>,
): Promise<Errand<Config>> {
  // Import lazily: agents import this package too, and they only need `defineConfig`.
  const { openEmbedded } = await import('./open-embedded.ts')
  return await openEmbedded(options)
}
