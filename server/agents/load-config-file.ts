import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ConfigError } from './catalogue.ts'
import type { ErrandConfig } from './define-config.ts'

/** Imports errand.config.ts (or .js, .mjs) and returns its default export; throws ConfigError when it has none. */
export async function loadConfigFile(file: string): Promise<ErrandConfig> {
  const path = resolve(file)
  let module: { default?: unknown }
  try {
    module = (await import(pathToFileURL(path).href)) as { default?: unknown }
  } catch (error) {
    throw new ConfigError(`${path} could not be loaded: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    })
  }
  if (typeof module.default !== 'object' || module.default === null) {
    throw new ConfigError(`${path} has no default export with the configuration.`)
  }
  return module.default as ErrandConfig
}
