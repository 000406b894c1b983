import { readFileSync, writeFileSync } from 'node:fs'
import { basename } from 'node:path'

type Parts = {
  /** The exported modules, without extensions. */
  modules: readonly string[]
  /** The declarations of the modules, and all declarations that they refer to. */
  declarations: Iterable<string>
}

/**
 * Lets CommonJS import the exported modules. Also copies their declarations, because TypeScript treats the originals as
 * declarations of ES modules.
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
