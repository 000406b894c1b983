import { writeFileSync } from 'node:fs'
import { referencePages } from './reference-pages.ts'

// Writes the committed pages anew; a test fails while they differ from the code.
for (const { file, write } of referencePages) writeFileSync(file, write())
