import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { runErrand } from '../support/test-process.ts'

const main = fileURLToPath(new URL('../../server/main.ts', import.meta.url))

type Failure = { code: number; stderr: string }

/** Returns the exit code and output of a command, which must fail. */
export async function refusal(args: readonly string[], env: Record<string, string> = {}): Promise<string> {
  const { code, stderr } = await runErrand(args, env).then(
    (stdout): Failure => ({ code: 0, stderr: stdout }),
    (error: Failure) => error,
  )
  return `${code} ${stderr}`
}

/** Returns the users in a database after a failed import. */
export async function usersIn(args: string[], env: Record<string, string> = {}): Promise<unknown[]> {
  return (JSON.parse(await runErrand(['users', 'list', '--json', ...args], env)) as { users: unknown[] }).users
}

export function linesOf(file: string): string[] {
  return readFileSync(file, 'utf8').split(/(?<=\n)/)
}

/**
 * Returns the lines of an export without the first one: rows, counts and checksum. They do not depend on the engine.
 */
export const rowsOf = (file: string) => linesOf(file).slice(1)

/** Recomputes the checksum of changed rows. */
export function withChecksum(lines: readonly string[]): string[] {
  const rows = lines.slice(1, -1)
  const sha256 = createHash('sha256').update(rows.join('')).digest('hex')
  const end = JSON.parse(lines.at(-1)!) as object
  return [lines[0]!, ...rows, `${JSON.stringify({ ...end, sha256 })}\n`]
}

/** Kills an import that has read everything except the last line and what a pipe holds. */
export async function killImport(file: string, args: string[], env: Record<string, string> = {}): Promise<void> {
  const lines = linesOf(file)
  const child = spawn(process.execPath, [main, 'import', '-', ...args], { env: { ...process.env, ...env } })
  const exited = once(child, 'exit')
  const given = lines.slice(0, -1).join('')
  expect(given.length).toBeGreaterThan(2 * 65_536)
  await new Promise((resolve) => child.stdin.write(given, resolve))
  child.kill('SIGKILL')
  expect(await exited).toEqual([null, 'SIGKILL'])
}
