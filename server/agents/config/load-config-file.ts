import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { messageOf } from '../../kernel/thrown.ts'
import { ConfigError } from '../../kernel/settings.ts'
import type { ErrandConfig } from './define-config.ts'
import { importModules, importProject, type ProjectModules } from './project-modules.ts'

/**
 * Imports errand.config.ts (or .js, .mjs) and returns its default export. If `modules` is given, uses these sources
 * instead of the files on disk. Throws a ConfigError if there is no configuration.
 */
export async function loadConfigFile(file: string, modules?: ProjectModules): Promise<ErrandConfig> {
  const path = resolve(file)
  if (!modules && !existsSync(path)) {
    throw new ConfigError(
      `${path} does not exist. Create a project with \`errand init FOLDER\`, or specify another file with --config.`,
    )
  }
  let module: { default?: unknown }
  try {
    module = (await (modules ? importModules(modules) : importProject(path))) as { default?: unknown }
  } catch (error) {
    throw new ConfigError(`Could not load ${path}. Fix this error and try again: ${messageOf(error)}`, { cause: error })
  }
  if (typeof module.default !== 'object' || module.default === null) {
    throw new ConfigError(`${path} does not export a configuration. Add export default defineConfig({ agents: [] }).`)
  }
  return module.default as ErrandConfig
}
