import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))

const files = ['server', 'openapi', 'client', 'bench', 'examples', 'test', 'scripts', 'console'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(?:ts|tsx|mjs)$/.test(name))
    .map((name) => `${folder}/${name}`),
)

test('the checks below find the files', () => {
  expect(files.length).toBeGreaterThan(80)
})

test('file names are kebab-case', () => {
  const bad = files.filter(
    (file) => !/^[a-z0-9]+(?:-[a-z0-9]+)*(?:\.(?:test|config|d))*\.(?:ts|tsx|mjs)$/.test(basename(file)),
  )
  expect(bad).toEqual([])
})

test('file names are unique', () => {
  const byName = Map.groupBy(
    files.filter((file) => !file.startsWith('examples/')),
    (file) => basename(file),
  )
  const twice = [...byName.values()].filter((same) => same.length > 1 && !isEnginePair(same))
  expect(twice).toEqual([])
})

/** The two store engines mirror each other file by file. */
function isEnginePair(same: readonly string[]): boolean {
  return same.every((file) => file.startsWith('server/store/'))
}

test('no file is longer than 400 lines, and half are at most 100', () => {
  const byHand = files.filter((file) => file !== 'client/types/api-types.ts')
  const sizes = byHand.map((file) => ({ file, lines: readFileSync(join(root, file), 'utf8').split('\n').length }))
  expect(sizes.filter(({ lines }) => lines > 400)).toEqual([])
  const served = sizes.filter(({ file }) => /^(?:server|client|openapi)\//.test(file)).map(({ lines }) => lines)
  expect(served.toSorted((a, b) => a - b)[Math.floor(served.length / 2)]).toBeLessThanOrEqual(100)
})

test('no folder has more than 25 files', () => {
  const served = files.filter((file) => /^(?:server|client|openapi|console)\//.test(file))
  const byFolder = Map.groupBy(served, dirname)
  expect([...byFolder].filter(([, inside]) => inside.length > 25).map(([folder]) => folder)).toEqual([])
})

test('no folder is called utils or helpers, and no file is a barrel', () => {
  expect(files.filter((file) => /\/(?:utils|helpers|misc|common)\//.test(file))).toEqual([])
  expect(files.filter((file) => basename(file) === 'index.ts')).toEqual([])
})

test('no test is focused, skipped or left as a todo', () => {
  const own = fileURLToPath(import.meta.url)
  const marked = files
    .filter((file) => file.endsWith('.test.ts') && join(root, file) !== own)
    .flatMap((file) =>
      readFileSync(join(root, file), 'utf8')
        .split('\n')
        .filter((line) => /\b(?:test|it|describe)\.(?:only|todo|skip)\b\s*\(/.test(line))
        .map((line) => `${file}: ${line.trim()}`),
    )
  expect(marked).toEqual([])
})
