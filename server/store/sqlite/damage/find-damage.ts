import type { Database } from 'better-sqlite3'
import { codeOf } from '../../../kernel/thrown.ts'

export function findDamage(db: Database): string | undefined {
  return orDamage(() => complaint(db.pragma('integrity_check(1)', { simple: true })))
}

/**
 * Like `findDamage`, but checks each table with a separate statement, because a thread can be stopped only between
 * two statements.
 */
export function findDamageByTable(db: Database, isStopped: () => boolean): string | undefined {
  return orDamage(() => {
    const tables = db.prepare<[], string>(`SELECT name FROM sqlite_schema WHERE type = 'table'`).pluck().all()
    for (const table of ['sqlite_schema', ...tables]) {
      if (isStopped()) return undefined
      const found = complaint(db.pragma(`integrity_check("${table}")`, { simple: true }))
      if (found !== undefined) return found
    }
    return undefined
  })
}

/** Whether the error means that the file contains data that SQLite cannot have written. */
export function isDamage(error: unknown): error is Error {
  return /^SQLITE_(?:CORRUPT|NOTADB)/.test(codeOf(error))
}

function orDamage(find: () => string | undefined): string | undefined {
  try {
    return find()
  } catch (error) {
    if (isDamage(error)) return error.message
    throw error
  }
}

function complaint(answer: unknown): string | undefined {
  if (answer === 'ok') return undefined
  const lines = String(answer).split('\n')
  return lines.find((line) => !line.startsWith('***')) ?? lines[0]
}
