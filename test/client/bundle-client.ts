import { fileURLToPath } from 'node:url'
import { build, type Rollup } from 'vite'

const entry = fileURLToPath(new URL('../../client/client.ts', import.meta.url))

/** Bundles the client for a page without modules: one script that sets a global. */
export async function bundleClient(): Promise<{ code: string; modules: string[] }> {
  const built = await build({
    configFile: false,
    envFile: false,
    logLevel: 'silent',
    build: { write: false, lib: { entry, formats: ['iife'], name: 'Errand' } },
  })
  const outputs = (Array.isArray(built) ? built : [built]) as Rollup.RollupOutput[]
  const chunks = outputs.flatMap(({ output }) => output).filter((item) => item.type === 'chunk')
  if (chunks.length !== 1) throw new Error(`the client is ${chunks.length} files instead of one`)
  return { code: chunks[0]!.code, modules: Object.keys(chunks[0]!.modules) }
}
