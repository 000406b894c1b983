import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { builtConsole } from '../support/console-folder.ts'

// The built scripts contain the names of the CSS classes of every Mantine component they use.

const assets = join(builtConsole(), 'assets')
const mantine = dirname(createRequire(import.meta.url).resolve('@mantine/core/styles.layer.css'))
const wholeCss = readFileSync(join(mantine, 'styles.layer.css'), 'utf8')
const imports = readFileSync(fileURLToPath(new URL('../../console/app/mantine.css', import.meta.url)), 'utf8')

function classesIn(text: string): string[] {
  return text.match(/\bm_[\da-f]+\b/g) ?? []
}

function builtClasses(ending: string): Set<string> {
  const names = readdirSync(assets).filter((name) => name.endsWith(ending))
  return new Set(names.flatMap((name) => classesIn(readFileSync(join(assets, name), 'utf8'))))
}

test('mantine.css styles every component in use and no others, in the order of the package', () => {
  const used = builtClasses('.js')
  const styled = builtClasses('.css')
  expect(used.size).toBeGreaterThan(100)
  expect(classesIn(wholeCss).filter((name) => used.has(name) && !styled.has(name))).toEqual([])
  const imported = [...imports.matchAll(/styles\/(\w+\.layer\.css)/g)]
    .map(([, name]) => ({ name, classes: classesIn(readFileSync(join(mantine, 'styles', name!), 'utf8')) }))
    .filter(({ classes }) => classes.length > 0)
  expect(imported.filter(({ classes }) => !classes.some((name) => used.has(name)))).toEqual([])
  const places = imported.map(({ classes }) => wholeCss.indexOf(classes[0]!))
  expect(places).toEqual(places.toSorted((one, other) => one - other))
})
