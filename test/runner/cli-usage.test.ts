import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { withRaw } from '../store/sqlite-engine.ts'
import { runErrand } from '../support/test-process.ts'
import { newDataDir } from '../support/test-service.ts'

type Failure = { code: number; stdout: string; stderr: string }

async function failureOf(args: string[]): Promise<Failure> {
  return await runErrand(args).then(
    (stdout) => ({ code: 0, stdout, stderr: '' }),
    ({ code, stderr, stdout }: Failure) => ({ code, stderr, stdout }),
  )
}

/** Runs two commands at a time, as a compromise between speed and load. */
async function failuresOf(commands: string[][]): Promise<Map<string[], Failure>> {
  const failures = new Map<string[], Failure>()
  const left = [...commands]
  const work = async () => {
    for (let args = left.shift(); args; args = left.shift()) failures.set(args, await failureOf(args))
  }
  await Promise.all([work(), work()])
  return failures
}

test('wrong usage exits 2 with one line on standard error, and touches no data directory', async () => {
  const dataDir = join(newDataDir(), 'never-made')
  const failures = await failuresOf([
    ['unknown'],
    ['serve', '--unknown', 'x'],
    ['serve', 'extra'],
    ['users', 'create', '--data', dataDir],
    ['users', 'create', '--email', '--data', dataDir, 'x', 'y'],
    ['credit', '--email', 'a@example.com', '--data', dataDir],
    ['credit', '--email', 'a@example.com', '--usd', 'much', '--data', dataDir],
    ['credit', '--email', 'a@example.com', '--usd', '0.00001', '--data', dataDir],
    ['keys', 'create', '--email', 'a@example.com', '--data', dataDir],
    ['keys', 'create', '--email', 'a@example.com', '--name', 'n', '--expires-days', '0', '--data', dataDir],
    ['keys', 'revoke', '--email', 'a@example.com', '--data', dataDir],
    ['backup', '--data', dataDir],
    ['users', 'create', '--email', 'no address', '--data', dataDir],
    ['users', 'create', '--email', 'b@example.com', '--password', 'short', '--data', dataDir],
    ['keys', 'create', '--email', 'a@example.com', '--name', 'n', '--scopes', 'everything', '--data', dataDir],
    ['platform-key', 'create', '--name', 'n', '--data', dataDir],
    ['platform-key', 'create', '--name', 'n', '--scopes', 'read', '--data', dataDir],
    ['platform-key', 'create', '--name', 'n', '--scopes', 'act', '--addresses', 'nowhere', '--data', dataDir],
    ['serve', '--data', dataDir, '--host', '0.0.0.0', '--port', '0'],
    ['serve', '--data', dataDir, '--port', 'many'],
    ['serve', '--data', dataDir, '--base-url', 'nowhere'],
  ])
  for (const [args, { code, stderr, stdout }] of failures) {
    expect([code, stdout], args.join(' ')).toEqual([2, ''])
    expect(stderr, args.join(' ')).toMatch(/^errand: [^\n]+\n$/)
  }
  expect(existsSync(dataDir)).toBe(false)
})

test('every other error exits 1 with one line on standard error', async () => {
  const dataDir = newDataDir()
  await runErrand(['users', 'create', '--email', 'a@example.com', '--data', dataDir])
  const config = (name: string, text: string) => {
    const file = join(dataDir, name)
    writeFileSync(file, text)
    return ['serve', '--data', dataDir, '--port', '0', '--config', file]
  }
  const missing = join(dataDir, 'missing')
  const taken = join(dataDir, 'taken.db')
  writeFileSync(taken, '')
  const failures = await failuresOf([
    ['users', 'create', '--email', 'A@example.com', '--data', dataDir],
    ['users', 'unblock', '--email', 'nobody@example.com', '--data', dataDir],
    ['credit', '--email', 'nobody@example.com', '--usd', '1', '--data', dataDir],
    ['credit', '--email', 'a@example.com', '--usd', '-1', '--data', dataDir],
    ['keys', 'revoke', '--email', 'a@example.com', '--key-id', 'key_unknown', '--data', dataDir],
    ['backup', taken, '--data', dataDir],
    ['backup', join(dataDir, 'no', 'folder.db'), '--data', dataDir],
    ['users', 'create', '--email', 'a@example.com', '--data', '/dev/null/no-folder'],
    ['users', 'list', '--data', missing],
    ['ledger', 'verify', '--data', missing],
    ['backup', join(dataDir, 'backup.db'), '--data', missing],
    ['serve', '--data', dataDir, '--port', '0', '--config', join(dataDir, 'missing.config.ts')],
    config('no-syntax.config.ts', 'export default { agents: [ { kind: "code" id: "x" } ] }'),
    config('throws.config.ts', 'throw new Error("one line\\nand another")'),
    config('no-default.config.ts', 'export const agents = []'),
    config('wrong.config.ts', 'export default { agents: [{ kind: "code", id: "no good", name: "" }] }'),
    config('limit.config.ts', 'export default { agents: [], limits: { inlineBytes: 0 } }'),
  ])
  for (const [args, { code, stderr, stdout }] of failures) {
    expect([code, stdout], args.join(' ')).toEqual([1, ''])
    expect(stderr, args.join(' ')).toMatch(/^errand: [^\n]+\n$/)
    expect(stderr, args.join(' ')).not.toMatch(/^\s+at /m)
  }
  expect(existsSync(missing)).toBe(false)
  rmSync(dataDir, { recursive: true })
})

test('commands work on a fresh data directory without a server, also several at once, and keep it to its owner', async () => {
  const dataDir = join(newDataDir(), 'fresh')
  const emails = ['a@example.com', 'b@example.com', 'c@example.com']
  await Promise.all(emails.map((email) => runErrand(['users', 'create', '--email', email, '--data', dataDir])))
  const { users } = JSON.parse(await runErrand(['users', 'list', '--data', dataDir, '--json']))
  expect(users.map(({ email }: { email: string }) => email).toSorted()).toEqual(emails)
  const [suspended, ...others] = users.map(({ userId }: { userId: string }) => userId)
  withRaw(dataDir, (raw) => raw.prepare('UPDATE users SET suspended_at = 1 WHERE id = ?').run(suspended))
  const shown = JSON.parse(await runErrand(['users', 'list', '--data', dataDir, '--json'])).users
  expect(shown.map((user: { userId: string; isSuspended: boolean }) => [user.userId, user.isSuspended])).toEqual([
    [suspended, true],
    ...others.map((userId: string) => [userId, false]),
  ])
  const report = JSON.parse(await runErrand(['ledger', 'verify', '--data', dataDir, '--json']))
  expect(report).toEqual({ ok: true, accounts: 3, transactions: 0, differences: [] })
  expect(readdirSync(dataDir)).toContain('errand.db')
  rmSync(dataDir, { recursive: true })
})
