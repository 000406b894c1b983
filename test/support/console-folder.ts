import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

let folder: string | undefined

/**
 * Builds the console from these sources if needed, and returns its folder. `ERRAND_CONSOLE_DIST` overrides the folder,
 * so that the checkout's own build stays untouched.
 */
export function builtConsole(): string {
  folder ??= process.env['ERRAND_CONSOLE_DIST'] ?? build()
  return folder
}

function build(): string {
  execFileSync(process.execPath, [fileURLToPath(new URL('../../scripts/build-console.mjs', import.meta.url))])
  return fileURLToPath(new URL('../../console/dist', import.meta.url))
}
