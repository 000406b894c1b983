import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { StoreOpenError } from '../store-open-error.ts'

type MovedTo = { database: string; at: string }

export function movedNoteFile(dataDir: string): string {
  return join(dataDir, 'moved.json')
}

/**
 * Throws if the installation has been moved to another database. If started again by mistake, it would run its queued
 * tasks a second time, and accept credits that would never reach the users.
 */
export function assertNotMoved(dataDir: string): void {
  const file = movedNoteFile(dataDir)
  if (!existsSync(file)) return
  throw new StoreOpenError(
    `The installation in ${dataDir} was moved to ${readDatabase(file)}: set ERRAND_DATABASE_URL. To continue with the data here, without anything that happened there since, remove ${file}.`,
  )
}

function readDatabase(file: string): string {
  try {
    return (JSON.parse(readFileSync(file, 'utf8')) as MovedTo).database
  } catch {
    return 'a PostgreSQL database'
  }
}

export function noteMoved(dataDir: string, moved: MovedTo): void {
  writeFileSync(movedNoteFile(dataDir), `${JSON.stringify(moved)}\n`, { mode: 0o600, flush: true })
}

export function forgetMoved(dataDir: string): void {
  rmSync(movedNoteFile(dataDir), { force: true })
}
