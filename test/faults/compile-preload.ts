import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { CannotRun } from '../support/test-parts.ts'
import { demandEqual } from '../support/until.ts'

const compileMsMax = 60_000

/** Compiles `NAME.c` of this folder for LD_PRELOAD and returns the library's path. */
export function compilePreload(name: string, folder: string): string {
  if (process.platform !== 'linux') throw new CannotRun('cc', 'a library is loaded before others on Linux only')
  const library = join(folder, `${name}.so`)
  const source = fileURLToPath(new URL(`./${name}.c`, import.meta.url))
  const { error, status, stderr } = spawnSync(
    'cc',
    ['-O1', '-shared', '-fPIC', '-o', library, source, '-ldl', '-lpthread'],
    { timeout: compileMsMax },
  )
  if (error) throw new CannotRun('cc', error.message)
  demandEqual(status, 0, `cc: ${stderr}`)
  return library
}
