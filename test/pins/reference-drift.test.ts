import { readdirSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { expect, test } from 'vitest'
import { referencePages } from '../../scripts/reference-pages.ts'
import { variables } from '../../server/kernel/settings.ts'

test.each(referencePages.map((page) => ({ ...page, name: basename(page.file.pathname) })))(
  '$name matches the code; npm run reference regenerates it',
  ({ file, write }) => {
    expect(readFileSync(file, 'utf8')).toBe(write())
  },
)

const server = new URL('../../server/', import.meta.url)
const read = (name: string) => readFileSync(new URL(name, server), 'utf8')

test('every variable in the settings table is read', () => {
  const config = read('app/config.ts') + read('app/resolve-brand.ts')
  const isRead = (name: string) =>
    new RegExp(String.raw`\b${name}\b`).test(config) || config.includes(`given('${name.replace(/^.*_S3_/, '')}')`)
  expect(Object.keys(variables).filter((name) => !isRead(name))).toEqual([])
})

test('every variable that a message names is in the settings table', () => {
  const names = readdirSync(server, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && name !== 'settings.ts')
    .flatMap((name) => Array.from(read(name).matchAll(/\bERRAND_[A-Z0-9_]*[A-Z0-9]\b/g), ([variable]) => variable))
  expect(names.length).toBeGreaterThan(10)
  const ofQuickstart = new Set(['ERRAND_MODEL_BASE_URL', 'ERRAND_MODEL_NAME'])
  expect(names.filter((name) => !Object.hasOwn(variables, name) && !ofQuickstart.has(name))).toEqual([])
})
