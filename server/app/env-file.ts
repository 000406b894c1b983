import { readFileSync, statSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { environment } from './config.ts'

const file = '.env'
// Check for a file, because Python environments are sometimes folders named `.env`.
const exists = () => statSync(file, { throwIfNoEntry: false })?.isFile() === true

/**
 * Adds the variables of `.env` in the working directory, unless they are already set. Node's `--env-file-if-exists`
 * does the same, but prints a line if there is no file.
 */
export function loadEnvFile(): void {
  if (exists()) process.loadEnvFile(file)
}

export function overriddenVariables(): string[] {
  if (!exists()) return []
  const env = environment()
  return Object.entries(parseEnv(readFileSync(file, 'utf8')))
    .filter(([name, value]) => env[name] !== value)
    .map(([name]) => `${name} is set in the shell, which overrides ${file}. Unset it in the shell to use ${file}`)
}
