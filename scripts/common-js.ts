import { readFileSync, writeFileSync } from 'node:fs'
import { basename } from 'node:path'

type Parts = {
  modules: readonly string[]
  declarations: Iterable<string>
}

/**
 * Makes the exported modules available to CommonJS. Also copies their declarations, because TypeScript treats the
 * originals as declarations of ES modules.
 */
export function addCommonJs({ declarations, modules }: Parts): void {
  for (const module of modules) {
    writeFileSync(`${module}.cjs`, `'use strict'\nmodule.exports = require('./${basename(module)}.js')\n`)
  }
  for (const file of declarations) {
    const text = readFileSync(file, 'utf8').replace(/\b(from |import\()(['"])(\.[^'"]+)\.ts\2/g, '$1$2$3.cjs$2')
    writeFileSync(file.replace(/\.d\.ts$/, '.d.cts'), text)
  }
}
