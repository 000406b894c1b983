import type { ReadSpend, SpendPage } from '../store.ts'
import { and, desc, eq, gt, lt, sql } from './drizzle.ts'
import type { Connection } from './database.ts'
import { transactions } from './schema.ts'

const dayMs = 86_400_000

/** Sums transactions by day, some thousands at a time: a whole month of a busy account would hold every other request. */
export class SpendQuery {
  readonly #page

  constructor({ orm }: Connection) {
    const { amount, createdAt, seq, type, userId } = transactions
    const rows = orm
      .select({ seq, type, amount, day: sql<number>`${createdAt} / ${sql.raw(String(dayMs))}`.as('day') })
      .from(transactions)
      .where(
        and(
          eq(userId, sql.placeholder('userId')),
          gt(seq, sql.placeholder('afterSeq')),
          lt(seq, sql.placeholder('beforeSeq')),
        ),
      )
      .orderBy(desc(seq))
      .limit(sql.placeholder('limit'))
      .as('rows')
    const isCharge = sql`${rows.type} IN ('task_charge', 'chat_charge')`
    const isRefund = sql`${rows.type} = 'task_refund'`
    this.#page = orm
      .select({
        day: rows.day,
        charged: sql<number>`coalesce(-sum(${rows.amount}) FILTER (WHERE ${isCharge}), 0)`,
        refunded: sql<number>`coalesce(sum(${rows.amount}) FILTER (WHERE ${isRefund}), 0)`,
        executions: sql<number>`count(*) FILTER (WHERE ${isCharge})`,
        failures: sql<number>`count(*) FILTER (WHERE ${isRefund})`,
        rows: sql<number>`count(*)`,
        oldestSeq: sql<number>`min(${rows.seq})`,
        newestSeq: sql<number>`max(${rows.seq})`,
      })
      .from(rows)
      .groupBy(sql`${rows.day}`)
      .prepare()
  }

  read(of: ReadSpend): SpendPage {
    const page: SpendPage = { days: [], rows: 0, oldestSeq: null, newestSeq: null }
    for (const { newestSeq, oldestSeq, rows, ...day } of this.#page.all(of)) {
      page.days.push(day)
      page.rows += rows
      page.oldestSeq = Math.min(page.oldestSeq ?? oldestSeq, oldestSeq)
      page.newestSeq = Math.max(page.newestSeq ?? newestSeq, newestSeq)
    }
    return page
  }
}
