import { existsSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { codeOf } from './thrown.ts'

/**
 * Creates a folder and its parents, accessible only to their owner. Works level by level, because Node's recursive
 * mkdir never returns if the system reports an existing parent as missing, which happens under /proc.
 */
export function makeFolder(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    const code = codeOf(error)
    if (code === 'EEXIST') return
    const parent = dirname(path)
    if (code !== 'ENOENT' || parent === path) throw error
    // If the parent exists after all, another process created it or the system's error was wrong. Retry once.
    if (!existsSync(parent)) makeFolder(parent)
    try {
      mkdirSync(path, { mode: 0o700 })
    } catch (again) {
      if (codeOf(again) !== 'EEXIST') throw again
    }
  }
}
