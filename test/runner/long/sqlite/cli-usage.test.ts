import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { withRaw } from '../../../store/sqlite-engine.ts'
import { runErrand } from '../../../support/test-process.ts'
import { newDataDir } from '../../../support/test-service.ts'

type Failure = { code: number; stdout: string; stderr: string }

async function failureOf(args: string[]): Promise<Failure> {
  return await runErrand(args).then(
    (stdout) => ({ code: 0, stdout, stderr: '' }),
    ({ code, stderr, stdout }: Failure) => ({ code, stderr, stdout }),
  )
}

/** Runs two commands at a time, as a compromise between speed and load. */
async function failuresOf(commands: string[][]): Promise<Map<string[], Failure>> {
  const failures = new Map(commands.map((args) => [args, { code: 0, stdout: '', stderr: '' }]))
  const left = [...commands]
  const work = async () => {
    for (let args = left.shift(); args; args = left.shift()) failures.set(args, await failureOf(args))
  }
  await Promise.all([work(), work()])
  return failures
}

test('a usage error exits with 2 and one line on standard error, and creates no data directory', async () => {
  const dataDir = join(newDataDir(), 'never-made')
  const failures = await failuresOf([
    ['unknown'],
    ['help', 'users', 'unknown'],
    ['completion', 'unknown'],
    ['serve', '--unknown', 'x'],
    ['serve', 'extra'],
    ['users', 'create', '--data', dataDir],
    ['users', 'create', '--email', '--data', dataDir, 'x', 'y'],
    ['users', 'credit', '--user', 'a@example.com', '--data', dataDir],
    ['users', 'credit', '--user', 'a@example.com', '--amount-usd', 'much', '--data', dataDir],
    ['users', 'credit', '--user', 'a@example.com', '--amount-usd', '0.00001', '--data', dataDir],
    ['keys', 'create', '--user', 'a@example.com', '--data', dataDir],
    ['keys', 'create', '--user', 'a@example.com', '--name', 'n', '--expires-in-days', '0', '--data', dataDir],
    ['keys', 'revoke', '--user', 'a@example.com', '--data', dataDir],
    ['backup', '--data', dataDir],
    ['users', 'create', '--email', 'no address', '--data', dataDir],
    ['users', 'create', '--email', 'b@example.com', '--password', 'short', '--data', dataDir],
    ['keys', 'create', '--user', 'a@example.com', '--name', 'n', '--scopes', 'everything', '--data', dataDir],
    ['users', 'list', '--limit', '101', '--data', dataDir],
    ['users', 'tasks', '--user', 'a@example.com', '--status', 'done', '--data', dataDir],
    ['users', 'plan', '--user', 'a@example.com', '--data', dataDir],
    ['platform-keys', 'create', '--name', 'n', '--data', dataDir],
    ['platform-keys', 'create', '--name', 'n', '--scopes', 'read', '--data', dataDir],
    ['platform-keys', 'create', '--name', 'n', '--scopes', 'act', '--addresses', 'nowhere', '--data', dataDir],
    ['serve', '--data', dataDir, '--host', '0.0.0.0', '--port', '0'],
    ['serve', '--data', dataDir, '--port', 'many'],
    ['serve', '--data', dataDir, '--base-url', 'nowhere'],
  ])
  for (const [args, { code, stderr, stdout }] of failures) {
    expect([code, stdout], args.join(' ')).toEqual([2, ''])
    expect(stderr, args.join(' ')).toMatch(/^(?:errand: warning: [^\n]+\n)?errand: [^\n]+\n$/)
  }
  expect(existsSync(dataDir)).toBe(false)
})

test('every other error exits with 1 and one line on standard error', async () => {
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
    ['users', 'unblock', '--user', 'nobody@example.com', '--data', dataDir],
    ['users', 'credit', '--user', 'nobody@example.com', '--amount-usd', '1', '--data', dataDir],
    ['users', 'credit', '--user', 'a@example.com', '--amount-usd', '-1', '--data', dataDir],
    ['keys', 'revoke', '--user', 'a@example.com', '--key-id', 'key_unknown', '--data', dataDir],
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

test('commands work without a server on a fresh data directory, even concurrently', async () => {
  const dataDir = join(newDataDir(), 'fresh')
  const emails = ['a@example.com', 'b@example.com', 'c@example.com']
  await Promise.all(emails.map((email) => runErrand(['users', 'create', '--email', email, '--data', dataDir])))
  const { users } = JSON.parse(await runErrand(['users', 'list', '--data', dataDir, '--json']))
  expect(users.map(({ email }: { email: string }) => email).toSorted()).toEqual(emails)
  const [suspended, ...others] = users.map(({ id }: { id: string }) => id)
  withRaw(dataDir, (raw) => raw.prepare('UPDATE users SET suspended_at = 1 WHERE id = ?').run(suspended))
  const shown = JSON.parse(await runErrand(['users', 'list', '--data', dataDir, '--json'])).users
  expect(shown.map((user: { id: string; isSuspended: boolean }) => [user.id, user.isSuspended])).toEqual([
    [suspended, true],
    ...others.map((id: string) => [id, false]),
  ])
  const report = JSON.parse(await runErrand(['ledger', 'verify', '--data', dataDir, '--json']))
  expect(report).toEqual({ ok: true, accounts: 3, balanceUsd: '0.0000', transactions: 0, differences: [] })
  expect(readdirSync(dataDir)).toContain('errand.db')
  rmSync(dataDir, { recursive: true })
})

test('help lists every command and marks required options', async () => {
  const all = await runErrand(['help'])
  for (const name of ['serve', 'users', 'platform-keys', 'backup', 'completion']) expect(all).toContain(`\n  ${name} `)
  expect(await runErrand(['help', 'users'])).toMatch(/\n {2}suspend \[options\] +block every request/)
  const create = await runErrand(['help', 'keys', 'create'])
  expect(create).toMatch(/--user <user> .*\(required\)/s)
  expect(create.match(/\(required\)/g)).toHaveLength(2)
  expect(await runErrand(['keys', 'create', '--help'])).toBe(create)
})

test('a usage error names the option and the relevant help command', async () => {
  const errors = await failuresOf([
    ['keys', 'create', '--name', 'n'],
    ['keys', 'create', '--user'],
    ['users', 'list', '--serch', 'a'],
    ['keys', 'create', '--user', 'a', '--name', 'n', '--expires-in-days', 'x'],
    ['keys', 'create', '--user', 'a', '--name', 'n', '--expires-in-days', '0'],
    ['keys', 'create', '--user', 'a', '--name', 'n', '--scopes', 'all'],
    ['keys', 'crate'],
  ])
  expect([...errors.values()].map(({ stderr }) => stderr)).toEqual([
    "errand: required option '--user <user>' not specified. Run `errand help keys create`.\n",
    "errand: option '--user <user>' argument missing. Run `errand help keys create`.\n",
    "errand: unknown option '--serch' (Did you mean --search?) Run `errand help users list`.\n",
    "errand: option '--expires-in-days <days>' argument 'x' is invalid. Use a whole number. Run `errand help keys create`.\n",
    'errand: --expires-in-days: Must be at least 1\n',
    'errand: --scopes: Must be one of read, execute, manage\n',
    "errand: unknown command 'crate' (Did you mean create?) Run `errand help keys`.\n",
  ])
})

test('with --json, an error is an API error body on standard error', async () => {
  const dataDir = newDataDir()
  await runErrand(['users', 'create', '--email', 'a@example.com', '--data', dataDir])
  const of = ['--user', 'a@example.com', '--data', dataDir, '--json']
  const errors = await failuresOf([
    ['users', 'show', '--data', dataDir, '--json'],
    ['users', 'credit', ...of, '--amount-usd', 'much'],
    ['users', 'credit', ...of, '--amount-usd', '-1'],
    ['users', 'show', '--user', 'nobody', '--data', dataDir, '--json'],
    ['users', 'create', '--email', 'a@example.com', '--data', dataDir, '--json'],
    ['users', 'list', '--data', join(dataDir, 'missing'), '--json'],
    ['serve', '--port', 'many', '--data', dataDir, '--json'],
  ])
  const found = Array.from(errors.values(), ({ code, stderr, stdout }) => {
    const { details, error, message, ...body } = JSON.parse(stderr)
    expect([stdout, stderr.split('\n').length, typeof error, typeof message]).toEqual(['', 2, 'string', 'string'])
    return [code, body, details?.[0].path]
  })
  const badRequest = { statusCode: 400, code: 'BAD_REQUEST' }
  expect(found).toEqual([
    [2, badRequest, '--user'],
    [2, badRequest, '--amount-usd'],
    [1, badRequest, '--amount-usd'],
    [1, { statusCode: 404, code: 'NOT_FOUND' }, undefined],
    [1, { statusCode: 409, code: 'CONFLICT' }, undefined],
    [1, { statusCode: 500, code: 'INTERNAL_ERROR' }, undefined],
    [2, badRequest, '--port'],
  ])
  rmSync(dataDir, { recursive: true })
})
