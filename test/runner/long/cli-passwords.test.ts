import { execFile, spawn } from 'node:child_process'
import { rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { isPassword } from '../../../server/auth/logins/passwords.ts'
import { engine } from '../../support/test-engine.ts'
import { missingCommand, testNeeding } from '../../support/test-needing.ts'
import { runErrand } from '../../support/test-process.ts'
import { newDataDir } from '../../support/test-service.ts'
import { besideServer } from '../process-client.ts'

const main = fileURLToPath(new URL('../../../server/main.ts', import.meta.url))
const email = 'person@example.com'

/** Whether this is the user's password. */
function fits(dataDir: string, password: string): Promise<boolean> {
  return besideServer(dataDir, async (store) => {
    const user = await store.findUser(email)
    return await isPassword(password, (await store.getUser(user!.id))!.passwordHash)
  })
}

async function pipe(dataDir: string, args: string[], input: string): Promise<void> {
  const env = { ...process.env, ...(await engine().environment(dataDir)) }
  const running = promisify(execFile)(process.execPath, [main, ...args, '--data', dataDir], { env })
  running.child.stdin!.end(input)
  await running
}

/** Types the lines into a terminal, one at each prompt. Returns the output of the terminal. */
async function type(dataDir: string, args: string[], lines: string[]): Promise<string> {
  const env = { ...process.env, ...(await engine().environment(dataDir)) }
  const command = [process.execPath, main, ...args, '--data', dataDir].map((arg) => `'${arg}'`).join(' ')
  const child = spawn('script', ['-qec', command, '/dev/null'], { env, stdio: ['pipe', 'pipe', 'inherit'] })
  let shown = ''
  let prompts = 0
  child.stdout.on('data', (chunk: Buffer) => {
    shown += chunk.toString()
    for (; (shown.match(/^(?:Repeat the p|P)assword: /gm) ?? []).length > prompts; prompts++)
      child.stdin.write(`${lines[prompts]}\r`)
  })
  await new Promise((resolve) => child.once('close', resolve))
  return shown
}

test('reads a password from standard input and checks it', async () => {
  const dataDir = newDataDir()
  await pipe(dataDir, ['users', 'create', '--email', email, '--password-stdin'], 'correct horse 1\n')
  expect(await fits(dataDir, 'correct horse 1')).toBe(true)
  const set = ['users', 'set-password', '--user', email, '--password-stdin']
  await pipe(dataDir, set, ' with spaces ')
  expect(await fits(dataDir, ' with spaces ')).toBe(true)
  await expect(pipe(dataDir, set, 'short\n')).rejects.toMatchObject({
    code: 2,
    stderr: 'errand: --password: Must have at least 10 characters\n',
  })
  expect(await fits(dataDir, ' with spaces ')).toBe(true)
  rmSync(dataDir, { recursive: true })
})

test('warns about a password on the command line, and needs a terminal to prompt for one', async () => {
  const dataDir = newDataDir()
  await runErrand(['users', 'create', '--email', email, '--data', dataDir])
  const set = ['users', 'set-password', '--user', email, '--data', dataDir]
  const { stderr } = await promisify(execFile)(process.execPath, [main, ...set, '--password', 'correct horse 1'], {
    env: { ...process.env, ...(await engine().environment(dataDir)) },
  })
  expect(stderr).toMatch(/^errand: warning: --password: other users .* use --password-stdin\.\n$/)
  expect(await fits(dataDir, 'correct horse 1')).toBe(true)
  await expect(runErrand([...set, '--password', 'correct horse 2', '--password-stdin'])).rejects.toMatchObject({
    code: 2,
  })
  const asked = pipe(dataDir, set.slice(0, -2), '')
  await expect(asked).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Use --password-stdin'),
  })
  rmSync(dataDir, { recursive: true })
})

testNeeding('script', missingCommand('script', '--version'))(
  'a terminal prompts twice for a password and does not show it',
  async () => {
    const dataDir = newDataDir()
    const create = ['users', 'create', '--email', email, '--password']
    expect(await type(dataDir, create, ['correct horse 1', 'correct horse 1'])).toMatch(
      /^Password: \r\nRepeat the password: \r\nCreated person@example\.com \(user_\w+\)\.\r\n$/,
    )
    expect(await fits(dataDir, 'correct horse 1')).toBe(true)
    const set = ['users', 'set-password', '--user', email]
    expect(await type(dataDir, set, ['correct horse 2', 'correct horse 3'])).toMatch(
      /^Password: \r\nRepeat the password: \r\nerrand: --password: the passwords do not match\. Run the command again\.\r\n$/,
    )
    expect(await type(dataDir, set, ['\u0003'])).toContain(
      '--password: no password was entered. Run the command again.',
    )
    expect(await fits(dataDir, 'correct horse 1')).toBe(true)
    rmSync(dataDir, { recursive: true })
  },
)
