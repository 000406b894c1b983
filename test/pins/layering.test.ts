import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { describeImport as describe, files, imports, root } from './read-imports.ts'

// The architecture as tests: which part may import which.

const slices = [
  'account',
  'admin',
  'agents',
  'auth',
  'billing',
  'chat',
  'connectors',
  'mails',
  'payloads',
  'payments',
  'procedures',
  'quotes',
  'tasks',
  'webhooks',
]
const inSlice = (file: string) => slices.some((slice) => file.startsWith(`server/${slice}/`))

test('the checks below find the files and their imports', () => {
  expect(files.length).toBeGreaterThan(80)
  expect(imports.length).toBeGreaterThan(300)
  expect(imports.map(describe)).toContain('server/app/open-service-store.ts → server/store/sqlite/sqlite-store.ts')
  expect(imports.map(describe)).toContain('server/store/sqlite/schema.ts → drizzle-orm')
})

test('the kernel imports no other code of this repository', () => {
  const bad = imports.filter(({ from, to }) => from.startsWith('server/kernel/') && !to.startsWith('server/kernel/'))
  const mayImport = (from: string, to: string) =>
    to.startsWith('node:') ||
    (from.startsWith('server/kernel/tracing/') ? to.startsWith('@opentelemetry/') : to === 'zod')
  expect(bad.filter(({ from, to }) => !mayImport(from, to)).map(describe)).toEqual([])
})

/** Server folders from the bottom up. A folder imports only from floors below its own. */
const floors = [
  ['kernel'],
  ['outbound', 'payloads'],
  ['store'],
  ['procedures'],
  ['billing', 'connectors'],
  ['agents', 'webhooks'],
  ['mails'],
  ['auth'],
  ['payments', 'tasks'],
  ['chat'],
  ['account', 'quotes'],
  ['admin'],
  ['http'],
  ['edge'],
  ['app'],
  ['cli', 'testing'],
]

/** Returns the folder of a server file; undefined for entry points and other files. */
function folderOf(file: string): string | undefined {
  return /^server\/(.+?)\//.exec(file)?.[1]
}

test('every folder imports only from layers below its own', () => {
  const floorOf = (folder: string) => floors.findIndex((floor) => floor.includes(folder))
  const bad = imports.filter(({ from, to }) => {
    const [own, other] = [folderOf(from), folderOf(to)]
    return own !== undefined && other !== undefined && own !== other && floorOf(own) <= floorOf(other)
  })
  expect(bad.map(describe)).toEqual([])
  const folders = new Set(files.flatMap((file) => folderOf(file) ?? []))
  expect([...folders].toSorted()).toEqual(floors.flat().toSorted())
})

test('a wire imports no other wire', () => {
  const wireOf = (file: string) => /^server\/edge\/(.+?)\//.exec(file)?.[1]
  const ofWires = imports.filter(({ from, to }) => wireOf(from) !== undefined && wireOf(to) !== undefined)
  expect(new Set(ofWires.map(({ from }) => wireOf(from)))).toContain('openai')
  expect(ofWires.filter(({ from, to }) => wireOf(from) !== wireOf(to)).map(describe)).toEqual([])
})

test('outbound code imports only the kernel, and no other code resolves names or connects', () => {
  const outbound = imports.filter(({ from }) => from.startsWith('server/outbound/'))
  expect(outbound.map(describe)).toContain('server/outbound/dial.ts → server/outbound/host-lookup.ts')
  expect(outbound.filter(({ to }) => !/^(?:node:|server\/(?:kernel|outbound)\/)/.test(to)).map(describe)).toEqual([])
  const bad = imports.filter(({ from, to }) => from.startsWith('server/') && /^node:(?:dns|tls|https)\b/.test(to))
  expect(bad.filter(({ from }) => !from.startsWith('server/outbound/')).map(describe)).toEqual([])
})

test("responses from users' servers are read outside agent threads", () => {
  const reached = new Set(['server/agents/threads/agent-thread.ts'])
  for (const file of reached) {
    for (const { from, isTypeOnly, to } of imports) if (from === file && !isTypeOnly) reached.add(to)
  }
  expect(reached).toContain('server/connectors/thread/remote-connectors.ts')
  const readers = ['mcp-connection', 'tool-answer', 'stdio-transport', 'guarded-fetch', 'probe-connector']
  const paths = readers.map((name) => `server/connectors/thread/${name}.ts`)
  expect(files).toEqual(expect.arrayContaining(paths))
  expect(paths.filter((path) => reached.has(path))).toEqual([])
})

test('the published package contains the entry module of every thread', () => {
  const entries = files.flatMap((file) => {
    const source = file.startsWith('server/') ? readFileSync(join(root, file), 'utf8') : ''
    return [...source.matchAll(/siblingModule\(import\.meta\.url, '([\w-]+)'\)/g)].map(
      ([, name]) => `../${dirname(file)}/${name}.ts`,
    )
  })
  expect(entries.length).toBeGreaterThan(2)
  const { files: compiled } = JSON.parse(readFileSync(join(root, 'scripts/server.tsconfig.json'), 'utf8')) as {
    files: string[]
  }
  expect(compiled).toEqual(expect.arrayContaining(entries))
})

test('slices import neither HTTP nor REST nor a store engine', () => {
  const bad = imports.filter(
    ({ from, to }) =>
      inSlice(from) &&
      /^(?:server\/http\/|openapi\/|server\/store\/(?:sqlite|postgres)|drizzle-orm|better-sqlite3)/.test(to),
  )
  expect(bad.map(describe)).toEqual([])
})

test('drizzle and the database drivers are imported under store/ only', () => {
  const bad = imports.filter(
    ({ from, to }) => /^(?:drizzle-orm|better-sqlite3|pg$)/.test(to) && /^(?:server|openapi|client)\//.test(from),
  )
  expect(bad.filter(({ from }) => !from.startsWith('server/store/')).map(describe)).toEqual([])
})

test('only the composition root, the command line and tests open a store', () => {
  const bad = imports.filter(
    ({ from, to }) =>
      /^server\/store\/(?:sqlite|postgres)\//.test(to) &&
      from.startsWith('server/') &&
      !from.startsWith('server/store/'),
  )
  expect([...new Set(bad.map(({ from }) => from))].toSorted()).toEqual([
    'server/app/open-payloads.ts',
    'server/app/open-service-store.ts',
    'server/cli/backups/backup-payloads.ts',
    'server/cli/backups/restore.ts',
    'server/cli/doctor-data.ts',
    'server/cli/open-store.ts',
  ])
})

test('neither store engine imports the other', () => {
  const bad = imports.filter(
    ({ from, to }) =>
      (from.startsWith('server/store/sqlite/') &&
        /^(?:server\/store\/postgres\/|pg$|drizzle-orm\/(?:pg|node-p))/.test(to)) ||
      (from.startsWith('server/store/postgres/') && /^(?:server\/store\/sqlite\/|better-sqlite3)/.test(to)),
  )
  expect(bad.map(describe)).toEqual([])
  expect(imports.map(describe)).toContain('server/store/postgres/connection/schema-hold.ts → drizzle-orm/node-postgres')
})

test("the store's commands import no engine", () => {
  const bad = imports.filter(
    ({ from, to }) =>
      from.startsWith('server/store/commands/') &&
      /^(?:server\/store\/(?:sqlite|postgres)|drizzle-orm|better-sqlite3|pg)/.test(to),
  )
  expect(bad.map(describe)).toEqual([])
  expect(imports.map(describe)).toContain('server/store/postgres/command-engine.ts → server/store/commands/command.ts')
})

test('only the configuration reads the environment', () => {
  const readers = files.filter(
    (file) =>
      /^(?:server|openapi|client)\//.test(file) && readFileSync(join(root, file), 'utf8').includes('process.env'),
  )
  expect(readers).toEqual(['server/app/config.ts', 'client/bin/errand-client.ts'])
})

test('the client imports only types from the server', () => {
  const bad = imports.filter(
    ({ from, isTypeOnly, to }) => from.startsWith('client/') && /^(?:server|openapi)\//.test(to) && !isTypeOnly,
  )
  expect(bad.map(describe)).toEqual([])
  // Its command is exempt.
  const ofNode = imports.filter(({ from, to }) => from.startsWith('client/') && to.startsWith('node:'))
  expect(ofNode.map(describe)).toEqual(['client/bin/errand-client.ts → node:process'])
})

test('the console imports the client, and only the formats of money and CSV from the server', () => {
  const ofConsole = imports.filter(({ from }) => from.startsWith('console/'))
  expect(ofConsole.map(describe)).toContain('console/app/api-client.ts → client/client.ts')
  const bad = ofConsole.filter(({ from, isTypeOnly, to }) => {
    // The console's build runs in Node.
    if (isTypeOnly || /^console\/(?:inter-font|precompress|vite\.config)\.ts$/.test(from)) return false
    const isOurs = /^(?:server|openapi|client|test|bench|examples|scripts)\//.test(to)
    const known = ['client/client.ts', 'server/kernel/money.ts']
    return to.startsWith('node:') || (isOurs && !known.includes(to))
  })
  expect(bad.map(describe)).toEqual([])
  // `npm start` builds the console from a copy of the listed sources.
  const sources = readFileSync(new URL('../../scripts/build-console.mjs', import.meta.url), 'utf8')
  const copied = ofConsole.filter(({ isTypeOnly, to }) => !isTypeOnly && to.startsWith('server/'))
  expect(copied.map(({ to }) => to).filter((path) => !sources.includes(`'${path}'`))).toEqual([])
})

test('only the console and tests import the console', () => {
  const bad = imports.filter(({ from, to }) => to.startsWith('console/') && !/^(?:console|test)\//.test(from))
  expect(bad.map(describe)).toEqual([])
})

test('served code imports no tests, benchmarks, examples or development tools', () => {
  const manifests = ['package.json', 'console/package.json'].map(
    (file) => JSON.parse(readFileSync(join(root, file), 'utf8')) as { devDependencies: Record<string, string> },
  )
  const devDependencies = new Set(manifests.flatMap((manifest) => Object.keys(manifest.devDependencies)))
  const bad = imports.filter(({ from, isTypeOnly, to }) => {
    if (!/^(?:server|client)\//.test(from) || isTypeOnly) return false
    // The optional peer of the package's React parts.
    if (from.startsWith('client/react/') && to === 'react') return false
    const name = to
      .split('/')
      .slice(0, to.startsWith('@') ? 2 : 1)
      .join('/')
    return /^(?:test|bench|examples)\//.test(to) || devDependencies.has(name)
  })
  expect(bad.map(describe)).toEqual([])
})
