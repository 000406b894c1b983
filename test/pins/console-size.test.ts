import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { builtConsole } from '../support/console-folder.ts'

// Number and transfer size of the scripts and styles of a browser's first load, compressed with brotli.

type Chunk = { file: string; name?: string; imports?: string[]; css?: string[]; dynamicImports?: string[] }

const folder = builtConsole()
const chunks = JSON.parse(readFileSync(join(folder, '.vite/manifest.json'), 'utf8')) as Record<string, Chunk>

/** Finds a chunk of the groups in console/vite.config.ts. */
function named(name: string): string {
  const key = Object.keys(chunks).find((one) => chunks[one]!.name === name)
  expect(key, `${name} in the manifest`).toBeDefined()
  return key!
}

/** Returns the files of these chunks and the entry, with all their imports. */
function filesOf(...keys: string[]): string[] {
  const files = new Set<string>()
  const visit = (key: string) => {
    const chunk = chunks[key]
    expect(chunk, `${key} in the manifest`).toBeDefined()
    const { css = [], file, imports = [] } = chunk!
    if (files.has(file)) return
    for (const one of [file, ...css]) files.add(one)
    for (const one of imports) visit(one)
  }
  for (const key of [named('start'), ...keys]) visit(key)
  return [...files]
}

function bytesOf(files: readonly string[]): number {
  return files.reduce((sum, file) => sum + sizeOf(join(folder, file)), 0)
}

function sizeOf(file: string): number {
  const compressed = `${file}.br`
  return statSync(existsSync(compressed) ? compressed : file).size
}

test('the login page needs at most 6 files and 150 KB', () => {
  const files = filesOf(named('login'))
  expect(files.length).toBeLessThanOrEqual(6)
  expect(bytesOf(files)).toBeGreaterThan(50_000)
  expect(bytesOf(files)).toBeLessThanOrEqual(150 * 1024)
})

test('every other page needs at most 25 files', () => {
  const pages = Object.keys(chunks).filter((key) => /^pages\/.*-page\.tsx$/.test(key))
  expect(pages.length).toBeGreaterThan(20)
  for (const page of pages) expect(filesOf(named('shell'), page).length, page).toBeLessThanOrEqual(25)
})

test('the overview needs at most 400 KB, including its dynamic imports', () => {
  const page = 'pages/overview/overview-page.tsx'
  const bytes = bytesOf(filesOf(named('shell'), page, ...(chunks[page]?.dynamicImports ?? [])))
  expect(bytes).toBeGreaterThan(80_000)
  expect(bytes).toBeLessThanOrEqual(400 * 1024)
})
