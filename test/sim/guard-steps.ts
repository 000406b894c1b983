import Database from 'better-sqlite3'
import { join } from 'node:path'
import { Violation } from './sim-checks.ts'
import type { SimWorld } from './sim-world.ts'

// What the database itself refuses, whatever the service's code would write: the last line of defence for money.

type Guard = { what: string; sql: string; values: (string | number)[] }

/** Each is tried on the rows of a living database, and undone should it be let through. */
export async function guardStep(world: SimWorld): Promise<void> {
  const db = new Database(join(world.host.dataDir, 'errand.db'), { timeout: 5000 })
  try {
    for (const { sql, values, what } of guardsOf(world)) {
      db.exec('BEGIN IMMEDIATE')
      try {
        world.checks.that(isRefused(db, { sql, values }), `the database refuses ${what}`)
      } finally {
        db.exec('ROLLBACK')
      }
    }
  } finally {
    db.close()
  }
}

function isRefused(db: Database.Database, { sql, values }: Omit<Guard, 'what'>): boolean {
  try {
    const { changes } = db.prepare(sql).run(...values)
    if (changes === 0) throw new Violation(`there is nothing that "${sql}" would change`)
    return false
  } catch (error) {
    if (error instanceof Database.SqliteError && error.code.startsWith('SQLITE_CONSTRAINT')) return true
    throw error
  }
}

function guardsOf({ audit: { seen }, random, state }: SimWorld): Guard[] {
  const guards: Guard[] = []
  const { userId } = random.pick(state.people)
  guards.push(
    {
      what: 'more held than there is',
      sql: 'UPDATE accounts SET held = balance + 1 WHERE user_id = ?',
      values: [userId],
    },
    { what: 'a balance below zero', sql: 'UPDATE accounts SET balance = -1 WHERE user_id = ?', values: [userId] },
  )
  const money = seen.transactions.slice(-200)
  if (money.length > 0) {
    const { id } = random.pick(money)
    guards.push(
      { what: 'another amount', sql: 'UPDATE transactions SET amount = amount + 1 WHERE id = ?', values: [id] },
      { what: 'the loss of a transaction', sql: 'DELETE FROM transactions WHERE id = ?', values: [id] },
    )
  }
  const once = money.filter(({ task_id: taskId, turn_id: turnId }) => taskId !== null || turnId !== null)
  if (once.length > 0) {
    const { id, type } = random.pick(once)
    const columns =
      'user_id, type, amount, balance_after, task_id, session_id, turn_id, description, breakdown, created_at'
    const sql = `INSERT INTO transactions (id, ${columns}) SELECT id || '2', ${columns} FROM transactions WHERE id = ?`
    guards.push({ what: `a second ${type} of the same`, sql, values: [id] })
  }
  const ended = [...seen.tasks.values()].slice(-200).filter(({ completed_at: at }) => at !== null)
  if (ended.length > 0) {
    const { id } = random.pick(ended)
    guards.push({
      what: 'a change of an ended task',
      sql: 'UPDATE tasks SET attempt = attempt + 1 WHERE id = ?',
      values: [id],
    })
  }
  const settled = [...seen.turns.values()].slice(-200).filter(({ settled_at: at }) => at !== null)
  if (settled.length > 0) {
    const { id } = random.pick(settled)
    const sql = 'UPDATE turns SET cost = cost + 1 WHERE id = ?'
    guards.push({ what: 'a change of a settled turn', sql, values: [id] })
  }
  return guards
}
