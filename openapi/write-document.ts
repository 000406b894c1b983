import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { createOpenApiDocument } from './openapi-document.ts'

// Rewrites the committed document. A test fails if the document does not match the procedures.
const file = fileURLToPath(new URL('./openapi.json', import.meta.url))
writeFileSync(file, `${JSON.stringify(createOpenApiDocument(), null, 2)}\n`)
