import { readFileSync, writeFileSync } from 'node:fs'
import { basename } from 'node:path'

type Parts = {
  /** The exported modules, without extensions. */
  modules: readonly string[]
  /** The declarations of the modules, and all declarations that these refer to. */
  declarations: Iterable<string>
}

/**
 * Lets CommonJS import the exported modules. It copies the declarations, because TypeScript treats those of an ES
 * module as ESM.
 */
export function addCommonJs({ declarations, modules }: Parts): void {
  for (const module of modules) {
    writeFileSync(`${module}.cjs`, `'use strict'\nmodule.exports = require('./${basename(module)}.js')\n`)
  }
  for (const file of declarations) {
    const text = readFileSync(file, 'utf8').replace(/from '(\.[^']+)\.ts'/g, "from '$1.cjs'")
    writeFileSync(file.replace(/\.d\.ts$/, '.d.cts'), text)
  }
}
