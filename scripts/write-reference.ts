import { writeFileSync } from 'node:fs'
import { referencePages } from './reference-pages.ts'

// Rewrites the committed pages. A test fails if they do not match the code.
for (const { file, write } of referencePages) writeFileSync(file, write())
