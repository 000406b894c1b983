import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { must } from '../../server/kernel/assert.ts'
import { codeOf } from '../../server/kernel/thrown.ts'
import { temporaryFolder } from '../support/resources.ts'
import { within } from '../support/until.ts'

// The shell blocks of the guides, and a shell that runs them as written.

export type GuideBlock = { page: string; text: string }

export const root = fileURLToPath(new URL('../../', import.meta.url))
const pages = ['README.md', ...globSync('{docs/guides/*,examples/*/README}.md', { cwd: root })]
const blocks = pages.flatMap((page) =>
  Array.from(readFileSync(join(root, page), 'utf8').matchAll(/^```sh\n([\s\S]*?)^```$/gm), ([, text]) => ({
    page,
    text: text!,
  })),
)
const run = new Set<GuideBlock>()

/** Returns the shell block of a guide that contains the text, and notes that a test runs it. */
export function block(guide: string, part: string): string {
  const found = blocks.find(({ page, text }) => page === `docs/guides/${guide}` && text.includes(part))
  run.add(must(found, `${guide} has a block with ${part}`))
  return found!.text
}

/** Returns the shell blocks that `block` has not returned. */
export function otherBlocks(): GuideBlock[] {
  return blocks.filter((one) => !run.has(one))
}

/** Prelude in which npm installs nothing and starts no server, but otherwise works as usual. */
const prelude = `
  npm() { case "$1" in install | start) ;; *) command npm "$@" ;; esac; }
`
const runMsMax = 120_000

type Shell = {
  /** Default: a new folder. */
  cwd?: string
  env: Record<string, string>
  /** Replacements that a reader would make: URLs and placeholders. */
  replace?: Record<string, string>
  /** Input that the reader types. */
  input?: string
}

/** Runs commands in one shell, in which the command `errand` is this checkout's. Returns what it prints. */
export async function runShell(
  commands: readonly string[],
  { cwd = temporaryFolder('guide'), env, input = '', replace = {} }: Shell,
): Promise<string> {
  let script = prelude + commands.join('\n')
  for (const [text, by] of Object.entries(replace)) {
    must(script.includes(text) || undefined, `the commands contain ${text}`)
    script = script.replaceAll(text, by)
  }
  const home = temporaryFolder('home')
  mkdirSync(join(home, '.config/fish/completions'), { recursive: true })
  const errand = join(home, 'errand')
  writeFileSync(errand, `#!/bin/sh\nexec '${process.execPath}' '${join(root, 'server/main.ts')}' "$@"\n`)
  chmodSync(errand, 0o755)
  const child = spawn('bash', ['-euo', 'pipefail', '-c', script], {
    cwd,
    env: { ...process.env, HOME: home, PATH: `${home}:${process.env['PATH']}`, ...env },
    detached: true,
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  child.stdin.end(input)
  const exited = once(child, 'exit') as Promise<[number | null]>
  const closed = once(child, 'close')
  const [code] = await within('the shell ends', runMsMax, exited).finally(() => killGroup(child.pid!))
  await closed
  if (code !== 0) throw new Error(`the shell exited with ${code}:\n${output}`)
  return output
}

/** Also ends the servers that the commands started in the background. */
function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch (error) {
    // No process of the group is left to kill.
    if (codeOf(error) !== 'ESRCH') throw error
  }
}
