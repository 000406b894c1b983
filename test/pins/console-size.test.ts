import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { builtConsole } from '../support/console-folder.ts'

// Transfer size of a browser's first load, compressed with brotli.

type Chunk = { file: string; imports?: string[]; dynamicImports?: string[] }
type Manifest = Record<string, Chunk>

const folder = builtConsole()

function readManifest(): Manifest {
  return JSON.parse(readFileSync(join(folder, '.vite/manifest.json'), 'utf8')) as Manifest
}

/** Returns the size of the entry and these lazy chunks, with all their imports. */
function bytesOf(manifest: Manifest, lazy: readonly string[]): number {
  const seen = new Set<string>()
  const visit = (name: string) => {
    if (seen.has(name)) return
    seen.add(name)
    const chunk = manifest[name]
    expect(chunk, `${name} in the manifest`).toBeDefined()
    for (const next of chunk!.imports ?? []) visit(next)
  }
  for (const name of ['index.html', ...lazy]) visit(name)
  return [...seen].reduce((sum, name) => sum + sizeOf(join(folder, manifest[name]!.file)), 0)
}

function sizeOf(file: string): number {
  const compressed = `${file}.br`
  return statSync(existsSync(compressed) ? compressed : file).size
}

test('the login page needs at most 200 KB of JavaScript', () => {
  const bytes = bytesOf(readManifest(), ['pages/login/login-page.tsx'])
  expect(bytes).toBeGreaterThan(50_000)
  expect(bytes).toBeLessThanOrEqual(200 * 1024)
})

test('the overview needs at most 400 KB of JavaScript, including its dynamic imports', () => {
  const manifest = readManifest()
  const page = 'pages/overview/overview-page.tsx'
  const bytes = bytesOf(manifest, ['app/shell.tsx', page, ...(manifest[page]?.dynamicImports ?? [])])
  expect(bytes).toBeGreaterThan(80_000)
  expect(bytes).toBeLessThanOrEqual(400 * 1024)
})
