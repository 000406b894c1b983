import Database from 'better-sqlite3'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { packageVersion } from '../../kernel/package-version.ts'
import { codeOf } from '../../kernel/thrown.ts'
import type { NodeState } from '../store-state.ts'

// Describes the process that has locked the data directory. After a crash, the file remains until the next start.

type Owner = Pick<NodeState, 'host' | 'pid' | 'version' | 'startedAt'>

const unknown: Owner = { host: hostname(), pid: null, version: null, startedAt: null }

export function writeOwner(dataDir: string): void {
  const owner: Owner = { host: hostname(), pid: process.pid, version: packageVersion, startedAt: Date.now() }
  try {
    writeFileSync(ownerFile(dataDir), JSON.stringify(owner), { mode: 0o600 })
  } catch {
    // A full disk must not stop the server, which can still read. `errand nodes` then does not know the owner.
  }
}

/** Returns undefined if no process has locked the data directory. */
export function readOwner(dataDir: string): Owner | undefined {
  if (!isLocked(dataDir)) return undefined
  try {
    return JSON.parse(readFileSync(ownerFile(dataDir), 'utf8')) as Owner
  } catch {
    return unknown
  }
}

function isLocked(dataDir: string): boolean {
  const file = join(dataDir, 'server.lock')
  if (!existsSync(file)) return false
  const lock = new Database(file, { readonly: true, timeout: 0 })
  try {
    lock.pragma('schema_version')
    return false
  } catch (error) {
    if (codeOf(error) === 'SQLITE_BUSY') return true
    throw error
  } finally {
    lock.close()
  }
}

function ownerFile(dataDir: string): string {
  return join(dataDir, 'server.json')
}
