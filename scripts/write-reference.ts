import { writeFileSync } from 'node:fs'
import { referencePages } from './reference-pages.ts'

// Rewrites the committed pages. A test fails if a page does not match the code.
for (const { file, write } of referencePages) writeFileSync(file, write())
