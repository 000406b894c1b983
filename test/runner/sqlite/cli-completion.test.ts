import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../../support/resources.ts'
import { missingCommand, testNeeding } from '../../support/test-needing.ts'
import { runErrand } from '../../support/test-process.ts'

/** Words before the cursor, and the expected completions. */
const cases: [words: string[], found: string[]][] = [
  [['us'], ['users']],
  [['users', 'se'], ['set-password']],
  [
    ['users', 'set-password', '--user', 'a', '--pass'],
    ['--password', '--password-stdin'],
  ],
  [
    ['completion', ''],
    ['bash', 'fish', 'zsh'],
  ],
]

async function scriptOf(shell: string): Promise<string> {
  const file = join(temporaryFolder('completion'), shell)
  writeFileSync(file, await runErrand(['completion', shell]))
  return file
}

const run = async (command: string, args: string[]) => (await promisify(execFile)(command, args)).stdout

test('bash completes commands, options and values, but leaves files to the shell', async () => {
  const file = await scriptOf('bash')
  const complete = async (words: string[]) => {
    const script = 'source "$0"; COMP_WORDS=(errand "$@") COMP_CWORD=$#; _errand; printf "%s\\n" "${COMPREPLY[@]}"'
    return (await run('bash', ['-c', script, file, ...words])).split('\n').filter(Boolean).toSorted()
  }
  for (const [words, found] of cases) expect(await complete(words), words.join(' ')).toEqual(found)
  expect(await complete(['backup', ''])).toEqual([])
})

testNeeding('fish', missingCommand('fish', '--version'))('fish completes with descriptions', async () => {
  const file = await scriptOf('fish')
  for (const [words, found] of cases) {
    const lines = await run('fish', ['-c', `source ${file}; complete -C 'errand ${words.join(' ')}'`])
    const got = lines.split('\n').filter(Boolean)
    expect(got.map((line) => line.split('\t')[0]).toSorted(), words.join(' ')).toEqual(found)
  }
  const lines = await run('fish', ['-c', `source ${file}; complete -C 'errand users s'`])
  expect(lines).toContain("suspend\tblock every request of a user and end the user's browser logins\n")
})

testNeeding('zsh', missingCommand('zsh', '--version'))('zsh loads its completion script', async () => {
  const file = await scriptOf('zsh')
  const script = `compdef() { print "$1 for $2" }; _describe() { print -l "\${found[@]}" }; source ${file}
    words=(errand users '') CURRENT=3 PREFIX=; _errand`
  const lines = await run('zsh', ['-f', '-c', script])
  expect(lines).toMatch(/^_errand for errand\ncreate:create a user with an empty balance\n/)
  expect(lines).not.toContain('--')
})
