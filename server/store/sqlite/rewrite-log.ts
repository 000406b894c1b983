import { closeSync, existsSync, fdatasyncSync, openSync, readFileSync, writeSync } from 'node:fs'
import type { Database } from 'better-sqlite3'
import { assert } from '../../kernel/assert.ts'
import { countWholeFrames } from './damage/log-damage.ts'

const tries = 3

/**
 * Writes the log over itself and syncs it, after a sync that may have failed: Linux then takes pages for clean that never reached the
 * disk, and every later sync would leave them out. Throws if that fails, or if the kernel has lost some of the pages.
 *
 * Touches neither the database file nor the index of the log: closing a descriptor of these would drop SQLite's locks on them.
 */
export function rewriteLog(db: Database, log: string): void {
  if (!existsSync(log)) return
  const [{ log: frames }] = db.pragma('wal_checkpoint(NOOP)') as [{ log: number }]
  // No other process writes to the log meanwhile.
  db.exec('BEGIN IMMEDIATE')
  try {
    const bytes = readFileSync(log)
    if (bytes.length === 0) return
    assert(countWholeFrames(log) >= frames, 'the log is whole up to its last commit')
    for (let triesLeft = tries; ; triesLeft--) {
      try {
        return overwrite(log, bytes)
      } catch (error) {
        if (triesLeft <= 1) throw error
      }
    }
  } finally {
    db.exec('ROLLBACK')
  }
}

function overwrite(log: string, bytes: Buffer): void {
  const file = openSync(log, 'r+')
  try {
    for (let at = 0; at < bytes.length;) at += writeSync(file, bytes, at, bytes.length - at, at)
    fdatasyncSync(file)
  } finally {
    closeSync(file)
  }
}
