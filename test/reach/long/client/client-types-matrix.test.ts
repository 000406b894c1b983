import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build, type Rollup } from 'vite'
import { beforeAll, expect, test } from 'vitest'
import { installTools } from '../../install-tools.ts'
import { installedProject, packClient, run } from './client-package.ts'

// The package as compilers, bundlers and package linters see it.

const setUpMsMax = 600_000
const runMsMax = 180_000
let tools = ''
let project = ''

/** Uses all types, with a declared and an undeclared endpoint. */
const app = `
import { createClient, isErrandError, type ChatEvent, type EndpointTypes, type Task } from 'errand-client'
import { ErrandChatTransport, toUIMessages, toUIMessageStreamResponse, type ErrandUIMessage } from 'errand-client/ai-sdk'
import { webhooks, type WebhookEvent } from 'errand-client/webhooks'

declare module 'errand-client' {
  interface EndpointTypes {
    'text.summarize': { params: { text: string }; response: { summary: string } }
  }
}

type Schema<Type> = { _zod: { input: Type; output: Type } }
type Config = { agents: readonly [{ id: 'text'; endpoints: { shout: { params: Schema<{ text: string }>; output: Schema<{ at: Date }> } } }] }
const typed = createClient<Config>({ baseUrl: 'http://127.0.0.1', apiKey: 'key' })

export async function shout(): Promise<void> {
  const { response } = await typed.tasks.run({ endpointId: 'text.shout', params: { text: 'x' } })
  response satisfies { at: string } | string | null
  // @ts-expect-error The endpoint is misspelt.
  void typed.tasks.run({ endpointId: 'text.shouts', params: { text: 'x' } })
}

const client = createClient({ baseUrl: 'http://127.0.0.1', apiKey: 'key', onRetry: ({ delayMs, error }) => console.log(delayMs, error.code) })

export async function main(): Promise<void> {
  const task: Task = await client.tasks.get({ taskId: 'x' })
  const { data, headers } = await client.tasks.create({ endpointId: 'any.other', params: { a: 1 } }).withResponse()
  const id: string | null = data.taskId && headers.get('x-request-id')
  for await (const { status } of client.tasks.list({ limit: 10 })) {
    const known: 'pending' | 'processing' | 'completed' | 'failed' = status
    void known
  }
  for await (const message of client.sessions.messages({ sessionId: 'x' })) void message.role
  for await (const event of client.chat.stream({ sessionId: 'x', message: 'y' })) {
    const one: ChatEvent = event
    if (one.type === 'done') void one.costUsd
  }
  const transport = new ErrandChatTransport({ client: () => client.asUser('one'), onEnd: ({ costUsd }) => console.log(costUsd) })
  const { messages } = await client.sessions.messages({ sessionId: 'x' })
  const shown: ErrandUIMessage[] = toUIMessages(messages)
  const answer: Response = await toUIMessageStreamResponse(client.chat.resumeSession({ sessionId: 'x' }))
  void [transport.resumeStreamIsReplay, shown, answer]
  const ended = await client.tasks.run({ endpointId: 'text.summarize', params: { text: 'x' } })
  if (typeof ended.response === 'object' && ended.response) ended.response.summary satisfies string
  // @ts-expect-error The text is missing.
  await client.tasks.run({ endpointId: 'text.summarize', params: {} })
  // @ts-expect-error The text is not a string.
  void client.tasks.create({ endpointId: 'text.summarize', params: { text: 1 } })
  // @ts-expect-error There is no such field.
  void task.reply
  const event: WebhookEvent = await webhooks.unwrap('', new Headers(), 'whsec_')
  try {
    void [id, event]
  } catch (error) {
    if (isErrandError(error) && error.code === 'RATE_LIMIT_EXCEEDED') void error.retryAfterSeconds
  }
}

void ({ params: { text: 'x' }, response: { summary: 'y' } } satisfies EndpointTypes['text.summarize'])
`

beforeAll(async () => {
  tools = await installTools('client')
  project = await installedProject({ 'app.mts': app, 'app.cts': app })
}, setUpMsMax)

const compilers: [version: string, path: () => string][] = [
  ['5.4', () => join(tools, 'typescript54/lib/tsc.js')],
  ['5.9', () => join(tools, 'typescript59/lib/tsc.js')],
  ['7.', () => join(import.meta.dirname, '../../../../node_modules/typescript/bin/tsc')],
]
const strict =
  '--noEmit --strict --exactOptionalPropertyTypes --noUncheckedIndexedAccess --skipLibCheck false --target es2022'
const modes: [mode: string, files: string[]][] = [
  ['--module node16 --moduleResolution node16', ['app.mts', 'app.cts']],
  ['--module nodenext --moduleResolution nodenext', ['app.mts', 'app.cts']],
  ['--module esnext --moduleResolution bundler', ['app.mts']],
]

for (const [version, compiler] of compilers) {
  test(`the declarations compile under TypeScript ${version} in every mode`, { timeout: runMsMax }, async () => {
    expect((await run(process.execPath, [compiler(), '--version'], project)).stdout).toContain(`Version ${version}`)
    for (const [mode, files] of modes) {
      await run(process.execPath, [compiler(), ...`${strict} ${mode}`.split(' '), ...files], project)
    }
  })
}

test('publint and attw find no problems', { timeout: runMsMax }, async () => {
  const installed = join(project, 'node_modules/errand-client')
  const lint = await run(process.execPath, [join(tools, 'publint/src/cli.js'), installed, '--strict'], project)
  expect(lint.stdout).toContain('All good!')
  const types = await run(join(tools, '.bin/attw'), [await packClient(), '--format', 'json'], project)
  const { analysis } = JSON.parse(types.stdout) as { analysis: { problems: unknown[]; entrypoints: object } }
  expect(analysis.problems).toEqual([])
  expect(Object.keys(analysis.entrypoints)).toEqual(
    expect.arrayContaining(['.', './webhooks', './ai-sdk', './react', './trpc']),
  )
})

async function gzipped(entry: string): Promise<number> {
  const id = join(project, 'size-entry.mjs')
  const built = (await build({
    configFile: false,
    envDir: false,
    logLevel: 'silent',
    root: project,
    plugins: [
      {
        name: 'entry',
        resolveId: (source) => (source === id ? id : null),
        load: (name) => (name === id ? entry : null),
      },
    ],
    build: {
      write: false,
      minify: true,
      rolldownOptions: { input: id, external: /^react\b/, preserveEntrySignatures: 'strict' },
    },
  })) as Rollup.RollupOutput
  const code = built.output.map((item) => (item.type === 'chunk' ? item.code : '')).join('')
  return gzipSync(code).length
}

test(
  'an app bundles at most 10 KB for tasks, 16 KB for everything, 2 KB for webhooks, 4 KB for ai-sdk and react',
  { timeout: runMsMax },
  async () => {
    const tasks = await gzipped(
      `import { createClient } from 'errand-client'\nexport const run = (options, input) => createClient(options).tasks.run(input)`,
    )
    const everything = await gzipped(`export * from 'errand-client'\nexport * from 'errand-client/webhooks'`)
    const webhooks = await gzipped(`export { unwrap } from 'errand-client/webhooks'`)
    const aiSdk = await gzipped(`export * from 'errand-client/ai-sdk'`)
    const react = await gzipped(`export * from 'errand-client/react'`)
    console.log(
      `min+gzip: tasks ${tasks}, everything ${everything}, webhooks ${webhooks}, ai-sdk ${aiSdk}, react ${react}`,
    )
    expect(tasks).toBeGreaterThan(3000)
    expect(tasks).toBeLessThanOrEqual(10 * 1024)
    expect(everything).toBeLessThanOrEqual(16 * 1024)
    expect(webhooks).toBeLessThanOrEqual(2 * 1024)
    expect(aiSdk).toBeLessThanOrEqual(4 * 1024)
    expect(react).toBeLessThanOrEqual(4 * 1024)
  },
)

test(
  'the package has no dependencies and only listed files; declarations are at most 148 KB',
  { timeout: runMsMax },
  async () => {
    const installed = join(project, 'node_modules/errand-client')
    const files = readdirSync(installed)
    const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as Record<string, unknown>
    expect(manifest).toMatchObject({
      peerDependencies: { '@trpc/server': '>=11', react: '>=18' },
      peerDependenciesMeta: { '@trpc/server': { optional: true }, react: { optional: true } },
    })
    for (const field of ['dependencies', 'optionalDependencies', 'scripts']) expect(manifest).not.toHaveProperty(field)
    const root = JSON.parse(readFileSync(new URL('../../../../package.json', import.meta.url), 'utf8')) as {
      version: string
    }
    expect(manifest).toMatchObject({
      name: 'errand-client',
      version: root.version,
      license: 'MIT',
      type: 'module',
      sideEffects: false,
    })
    expect(readdirSync(join(project, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual([
      'errand-client',
    ])
    const declarations = files.filter((name) => /\.d\.c?ts$/.test(name))
    expect(declarations.length).toBe(10)
    const sizeOf = (names: string[]) => names.reduce((sum, name) => sum + statSync(join(installed, name)).size, 0)
    const needsPeer = (name: string) => /^(?:react|trpc)\./.test(name)
    expect(sizeOf(declarations.filter((name) => !needsPeer(name)))).toBeLessThanOrEqual(148 * 1024)
    expect(sizeOf(declarations.filter(needsPeer))).toBeLessThanOrEqual(10 * 1024)
    for (const name of declarations.filter((one) => !needsPeer(one))) {
      const text = readFileSync(join(installed, name), 'utf8')
      expect(text, name).not.toMatch(/\bzod\b|trpc|drizzle|\bimport\b|server\//i)
    }
    for (const name of files.filter((file) => /(?<!^trpc)\.c?js$/.test(file))) {
      expect(files, name).toContain(`${name}.map`)
      expect(readFileSync(join(installed, name), 'utf8'), name).not.toMatch(/trpc\/client|superjson|\bzod\b/)
    }
    expect(files).toEqual(
      expect.arrayContaining(['README.md', 'LICENSE', 'errand-client.js', 'index.js', 'index.cjs', 'webhooks.js']),
    )
  },
)
