import { closeSync, existsSync, fdatasyncSync, openSync, readFileSync, writeSync } from 'node:fs'
import { endianness } from 'node:os'
import type { Database } from 'better-sqlite3'
import { assert } from '../../kernel/assert.ts'
import { countWholeFrames } from './damage/log-damage.ts'

/** Number of committed frames, in the log's shared index. */
const frameCountAt = 16

/**
 * Writes the log over itself and syncs it, after a sync that may have failed: Linux then takes pages for clean that never reached the
 * disk, and every later sync would leave them out. Throws if that fails, or if the kernel has lost some of the pages.
 */
export function rewriteLog(db: Database, log: string): void {
  if (!existsSync(log)) return
  // No other process writes to the log meanwhile.
  db.exec('BEGIN IMMEDIATE')
  try {
    const bytes = readFileSync(log)
    if (bytes.length === 0) return
    assert(countWholeFrames(log) >= committedFrames(log), 'the log is whole up to its last commit')
    const file = openSync(log, 'r+')
    try {
      for (let at = 0; at < bytes.length;) at += writeSync(file, bytes, at, bytes.length - at, at)
      fdatasyncSync(file)
    } finally {
      closeSync(file)
    }
  } finally {
    db.exec('ROLLBACK')
  }
}

function committedFrames(log: string): number {
  const index = readFileSync(`${log.slice(0, -'-wal'.length)}-shm`)
  return endianness() === 'LE' ? index.readUInt32LE(frameCountAt) : index.readUInt32BE(frameCountAt)
}
