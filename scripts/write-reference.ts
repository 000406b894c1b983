import { writeFileSync } from 'node:fs'
import { referencePages } from './reference-pages.ts'

// Writes the generated files. A test fails if one of them does not match the code.
for (const { file, write } of referencePages) writeFileSync(file, write())
