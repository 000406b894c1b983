import { existsSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { messageOf } from '../../kernel/thrown.ts'
import { ConfigError } from './catalogue.ts'
import type { ErrandConfig } from './define-config.ts'

/** Imports errand.config.ts (or .js, .mjs) and returns its default export. Throws ConfigError if there is none. */
export async function loadConfigFile(file: string): Promise<ErrandConfig> {
  const path = resolve(file)
  if (!existsSync(path)) {
    throw new ConfigError(
      `${path} does not exist. Create a project with \`errand init FOLDER\`, or set another file with --config.`,
    )
  }
  lendPackages()
  let module: { default?: unknown }
  try {
    module = (await import(pathToFileURL(path).href)) as { default?: unknown }
  } catch (error) {
    throw new ConfigError(`Could not load ${path}: ${messageOf(error)}`, { cause: error })
  }
  if (typeof module.default !== 'object' || module.default === null) {
    throw new ConfigError(
      `${path} must have the configuration as its default export: export default defineConfig({ agents: [] })`,
    )
  }
  return module.default as ErrandConfig
}

/**
 * Packages that a configuration file in any folder can import: this package, and the Zod version that parses the file's
 * schemas.
 */
const lent = /^(?:zod|errand|errand\/(?:client|adapters\/.+))$/
let isLending = false

function lendPackages(): void {
  if (isLending) return
  isLending = true
  registerHooks({
    resolve: (specifier, context, nextResolve) => {
      try {
        return nextResolve(specifier, context)
      } catch (error) {
        if (!lent.test(specifier)) throw error
        return nextResolve(specifier, { ...context, parentURL: import.meta.url })
      }
    },
  })
}
