import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { createOpenApiDocument } from '../../openapi/openapi-document.ts'

test('the committed document is the one that the procedures give; npm run openapi writes it anew', () => {
  const committed = readFileSync(new URL('../../openapi/openapi.json', import.meta.url), 'utf8')
  expect(committed).toBe(`${JSON.stringify(createOpenApiDocument(), null, 2)}\n`)
})
