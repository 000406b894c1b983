import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const read = (name: string) => readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8')
type Manifest = { version: string; license: string; engines: object; dependencies: Record<string, string> }
const manifest = (name: string) => JSON.parse(read(name)) as Manifest

test('create-errand has the version, engines and license of errand, and requires that version', () => {
  const { engines, license, version } = manifest('package.json')
  expect(manifest('create-errand/package.json')).toMatchObject({
    version,
    license,
    engines,
    dependencies: { errand: version },
  })
  expect(read('create-errand/LICENSE')).toBe(read('LICENSE'))
})

test('the starter uses the provider version that the server is tested with', () => {
  const name = '@ai-sdk/openai'
  const { dependencies } = manifest('examples/starter/manifest.json')
  expect(dependencies[name]).toBe(`^${manifest('package.json').dependencies[name]}`)
})
