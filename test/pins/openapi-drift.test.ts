import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { createOpenApiDocument } from '../../openapi/openapi-document.ts'

test('the committed document matches the procedures; npm run openapi regenerates it', () => {
  const committed = readFileSync(new URL('../../openapi/openapi.json', import.meta.url), 'utf8')
  expect(committed).toBe(`${JSON.stringify(createOpenApiDocument(), null, 2)}\n`)
})
