import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

let folder: string | undefined

/**
 * The built console, of these very sources: built now when it is not. Whoever builds it elsewhere, to leave that of the
 * checkout alone, names the folder.
 */
export function builtConsole(): string {
  folder ??= process.env['ERRAND_CONSOLE_DIST'] ?? build()
  return folder
}

function build(): string {
  execFileSync(process.execPath, [fileURLToPath(new URL('../../scripts/build-console.mjs', import.meta.url))])
  return fileURLToPath(new URL('../../console/dist', import.meta.url))
}
