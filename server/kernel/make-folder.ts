import { existsSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { codeOf } from './thrown.ts'

/**
 * Makes a folder for its owner only, and its parents. Level by level, because Node's own recursive form never returns
 * where the system says that a parent is missing though it is there, as below /proc.
 */
export function makeFolder(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    const code = codeOf(error)
    if (code === 'EEXIST') return
    const parent = dirname(path)
    if (code !== 'ENOENT' || parent === path) throw error
    // Where the parent is there after all, another process was quicker, or the system lies: one more try tells.
    if (!existsSync(parent)) makeFolder(parent)
    try {
      mkdirSync(path, { mode: 0o700 })
    } catch (again) {
      if (codeOf(again) !== 'EEXIST') throw again
    }
  }
}
