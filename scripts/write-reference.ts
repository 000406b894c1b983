import { writeFileSync } from 'node:fs'
import { referencePages } from './reference-pages.ts'

// Rewrites the committed pages; a test fails if they differ from the code.
for (const { file, write } of referencePages) writeFileSync(file, write())
