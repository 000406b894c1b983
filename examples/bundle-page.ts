import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'

export async function bundlePage(page: URL): Promise<string> {
  const entry = fileURLToPath(page)
  const built = await build({
    configFile: false,
    envDir: false,
    logLevel: 'silent',
    root: dirname(entry),
    oxc: { jsx: { runtime: 'automatic', development: false } },
    define: { 'process.env.NODE_ENV': '"production"' },
    build: { write: false, lib: { entry, formats: ['es'] } },
  })
  const [bundle] = Array.isArray(built) ? built : [built]
  if (!bundle || !('output' in bundle)) throw new Error('Could not bundle the page.')
  return bundle.output[0].code
}
