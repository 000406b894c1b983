import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { createContext, runInContext } from 'node:vm'
import { beforeAll, expect, test } from 'vitest'
import { build, type Rollup } from 'vite'
import { startService } from '../../../support/test-service.ts'
import { installTools } from '../../install-tools.ts'
import { installedProject, run } from './client-package.ts'
import { journeyProgram, journeyResult, journeySettings, journeyText, type JourneySettings } from './journey.ts'

// Every runtime runs the same program (the journey) with the published package, from an empty folder.

const setUpMsMax = 600_000
const runMsMax = 120_000
let tools = ''
let project = ''

beforeAll(async () => {
  tools = await installTools('client')
  project = await installedProject({ 'journey.mjs': journeyProgram('esm'), 'journey.cjs': journeyProgram('cjs') })
}, setUpMsMax)

/** Defines a test that runs a journey against a new service. */
function runtimeTest(name: string, travel: (settings: JourneySettings) => Promise<unknown>): void {
  test(`creates, waits, streams, aborts, verifies a webhook: ${name}`, { timeout: runMsMax }, async () => {
    const service = await startService()
    try {
      expect(await travel(await journeySettings(service))).toEqual(journeyResult)
    } finally {
      await service.stop()
    }
  })
}

function byCommand(command: () => string, ...args: string[]) {
  return async (settings: JourneySettings): Promise<unknown> => {
    const { stdout } = await run(command(), args, project, { JOURNEY: JSON.stringify(settings) })
    return JSON.parse(stdout)
  }
}

const node20 = '/usr/bin/node'
const nodes: [name: string, command: () => string][] = [
  ['Node 20', () => node20],
  ['Node 22', () => join(tools, 'node22/bin/node')],
  ['Node 24', () => process.execPath],
]

for (const [name, command] of nodes) {
  test(`the Node under test is ${name}`, () => {
    expect(String(execFileSync(command(), ['--version']))).toMatch(new RegExp(`^v${name.slice(5)}\\.`))
  })
  runtimeTest(`${name}, import`, byCommand(command, 'journey.mjs'))
  runtimeTest(`${name}, require`, byCommand(command, 'journey.cjs'))
}

runtimeTest(
  'Bun',
  byCommand(() => join(tools, '@oven/bun-linux-x64/bin/bun'), 'journey.mjs'),
)
runtimeTest(
  'Deno',
  byCommand(
    () => join(tools, '@deno/linux-x64-glibc/deno'),
    'run',
    '--quiet',
    '--node-modules-dir=manual',
    '--allow-net',
    '--allow-env=JOURNEY',
    'journey.mjs',
  ),
)

/** Bundles journey and package into one script, as edge bundlers do. */
async function bundled(entry: string, format: 'es' | 'iife'): Promise<string> {
  const id = join(project, `entry-${format}.mjs`)
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
    build: { write: false, minify: false, lib: { entry: id, formats: [format], name: 'Journey' } },
  })) as Rollup.RollupOutput[]
  const [chunk] = built.flatMap(({ output }) => output)
  if (chunk?.type !== 'chunk') throw new Error('nothing was bundled')
  return chunk.code
}

const imports = `import { createClient, isErrandError } from 'errand-client'\nimport { unwrap } from 'errand-client/webhooks'\n${journeyText}`

function load(name: string): unknown {
  return createRequire(join(tools, 'any.js'))(name)
}

runtimeTest('workerd', async (settings) => {
  type Miniflare = {
    ready: Promise<URL>
    dispatchFetch: (url: string, init: RequestInit) => Promise<Response>
    dispose: () => Promise<void>
  }
  const { Miniflare } = load('miniflare') as { Miniflare: new (options: object) => Miniflare }
  const script = await bundled(
    `${imports}\nexport default { fetch: async (request) => Response.json(await journey({ createClient, isErrandError, unwrap }, await request.json())) }`,
    'es',
  )
  const worker = new Miniflare({ modules: true, script, compatibilityDate: '2026-07-01' })
  try {
    const answer = await worker.dispatchFetch('http://worker/', { method: 'POST', body: JSON.stringify(settings) })
    return await answer.json()
  } finally {
    await worker.dispose()
  }
})

runtimeTest('edge-runtime', async (settings) => {
  type Runtime = { evaluate: (code: string) => Promise<unknown> }
  const { EdgeRuntime } = load('edge-runtime') as { EdgeRuntime: new () => Runtime }
  const script = await bundled(
    `${imports}\nglobalThis.journey = (settings) => journey({ createClient, isErrandError, unwrap }, settings).then(JSON.stringify)`,
    'iife',
  )
  const runtime = new EdgeRuntime()
  await runtime.evaluate(script)
  return JSON.parse(String(await runtime.evaluate(`journey(${JSON.stringify(settings)})`)))
})

runtimeTest('a Metro bundle', async (settings) => {
  const entry = `${imports}\nglobalThis.journey = (settings) => journey({ createClient, isErrandError, unwrap }, settings)`
  writeFileSync(join(project, 'metro-entry.js'), entry)
  writeFileSync(join(project, 'metro-build.cjs'), metroBuild)
  await run(process.execPath, ['metro-build.cjs', tools], project)
  const context = createContext(webGlobals())
  runInContext(readFileSync(join(project, 'metro-bundle.js'), 'utf8'), context)
  // Copies the value, because values of the other context have other prototypes.
  return JSON.parse(
    JSON.stringify(await (context['journey'] as (settings: JourneySettings) => Promise<unknown>)(settings)),
  )
})

/** Builds with Metro without React Native: default settings, except for the runtime's path. */
const metroBuild = `
const modules = process.argv[2]
const metro = require('node:module').createRequire(modules + '/any.js')('metro')
async function build() {
  const config = await metro.loadConfig({ cwd: __dirname }, {
    projectRoot: __dirname,
    watchFolders: [modules],
    cacheStores: [],
    maxWorkers: 1,
    resolver: { nodeModulesPaths: [modules], useWatchman: false },
    transformer: { getTransformOptions: async () => ({ transform: { experimentalImportSupport: true, inlineRequires: false } }) },
    reporter: { update() {} },
  })
  const out = __dirname + '/metro-bundle.js'
  await metro.runBuild(config, { entry: __dirname + '/metro-entry.js', out, dev: false, minify: false, platform: 'ios' })
}
build().then(() => process.exit(0), (error) => { console.error(error); process.exit(1) })
`

/** Returns the globals of a program without Node's modules. */
function webGlobals(): Record<string, unknown> {
  const names =
    'AbortController AbortSignal Headers Request Response TextDecoder TextEncoder URL atob clearTimeout console crypto fetch performance queueMicrotask setTimeout'
  return Object.fromEntries(names.split(' ').map((name) => [name, Reflect.get(globalThis, name)]))
}
