import { execFileSync } from 'node:child_process'
import { stripTypeScriptTypes } from 'node:module'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { toCurl, toTypeScript } from '../../console/parts/text/snippet-text.ts'

const values = [
  "It's here",
  'a "quoted" word',
  String.raw`back\slash and \n no line`,
  'two\nlines',
  '$HOME `id` $(id) !x',
  "'; rm -rf /; '",
  '\u2028 and 👋',
]
const baseUrl = 'https://errand.example.com'

test('the shell passes exactly the given values to curl and expands only the key', () => {
  const body = { params: { values, nested: { list: [1, null, true] } } }
  const command = toCurl(
    { method: 'POST', path: "/api/tasks?a=it's", body, headers: { 'Idempotency-Key': 'a b' } },
    baseUrl,
  )
  // The shell runs this instead of curl: it prints its arguments as JSON.
  const shown = execFileSync(
    'sh',
    ['-c', `curl() { "$NODE" -p 'JSON.stringify(process.argv.slice(1))' -- "$@"; }\n${command}`],
    {
      env: { NODE: process.execPath, ERRAND_API_KEY: 'errand_sk_key' },
    },
  )
  const args = JSON.parse(shown.toString()) as string[]
  expect(args.slice(0, 3)).toEqual(['-X', 'POST', `${baseUrl}/api/tasks?a=it's`])
  expect(args).toContain('Authorization: Bearer errand_sk_key')
  expect(args).toContain('Idempotency-Key: a b')
  expect(JSON.parse(args.at(-1)!)).toEqual(body)
})

test('the TypeScript code calls the client with exactly the given values', async () => {
  const input = { params: { values, 'odd-key': { ["it's"]: [] }, empty: {}, number: -1.5, long: 'x'.repeat(200) } }
  const code = toTypeScript({ method: 'tasks.create', input, result: 'task' }, baseUrl)
  const body = stripTypeScriptTypes(code.replace(/^import .*$/m, ''))
  const called: string[] = []
  const client = { tasks: { create: async (given: unknown) => (called.push(JSON.stringify(given)), 'its answer') } }
  const printed: unknown[] = []
  const console = { log: (value: unknown) => void printed.push(value) }
  const globals = { console, createClient: () => client, process: { env: { ERRAND_API_KEY: 'errand_sk_key' } } }
  await runInNewContext(`(async () => {${body}})()`, globals)
  expect(called).toEqual([JSON.stringify(input)])
  expect(printed).toEqual(['its answer'])
})

test('a curl read has no method or body', () => {
  expect(toCurl({ method: 'GET', path: '/api/tasks' }, baseUrl)).toBe(
    `curl 'https://errand.example.com/api/tasks' \\\n  -H "Authorization: Bearer $ERRAND_API_KEY"`,
  )
})
