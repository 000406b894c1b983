import type { ForbiddenWrite } from './sim-engine.ts'
import type { SimWorld } from './sim-world.ts'

// Writes that the database itself must reject, even if the service's code is wrong: the last line of defense for money.

type Guard = ForbiddenWrite & { what: string }

/** Tries each forbidden write on the rows of a live database, and rolls it back if it succeeds. */
export async function guardStep(world: SimWorld): Promise<void> {
  for (const { sql, values, what } of guardsOf(world)) {
    const refusal = await world.engine.tryWrite(world.host.dataDir, { sql, values })
    world.checks.that(refusal !== undefined, `the database refuses ${what}`)
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
