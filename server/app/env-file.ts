import { readFileSync, statSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { environment } from './config.ts'

const file = '.env'
// A Python environment may be a folder with this name.
const exists = () => statSync(file, { throwIfNoEntry: false })?.isFile() === true

/**
 * Adds the variables of `.env` in the working directory to the environment. Variables that are already set keep their
 * values. Node's `--env-file-if-exists` does the same, but prints a line if there is no file.
 */
export function loadEnvFile(): void {
  if (exists()) process.loadEnvFile(file)
}

/** Returns a warning for each variable whose value in the environment differs from that in `.env`. */
export function overriddenVariables(): string[] {
  if (!exists()) return []
  const env = environment()
  return Object.entries(parseEnv(readFileSync(file, 'utf8')))
    .filter(([name, value]) => env[name] !== value)
    .map(([name]) => `${name} is set in the shell, which overrides ${file}. Unset it in the shell to use ${file}`)
}
