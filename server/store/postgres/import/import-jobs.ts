import type { PgClient } from '../connection/driver.ts'
import { TaskJobs } from '../nodes/task-jobs.ts'
import { Transaction } from '../connection/transaction.ts'

const pageRows = 1000
const waiting = {
  name: 'import_waiting',
  text: 'SELECT id, seq FROM tasks WHERE completed_at IS NULL AND queued = 1 AND seq > $1 ORDER BY seq LIMIT $2',
}

/** Makes a job for each task that waits, oldest first. How many there were. */
export async function queueAll(databaseUrl: string, client: PgClient): Promise<number> {
  // Its upkeep has nothing to do yet, and is none of this command's.
  const jobs = await TaskJobs.open(databaseUrl, () => {})
  try {
    let queued = 0
    let afterSeq = 0
    for (;;) {
      const { rows } = await client.query({ ...waiting, values: [afterSeq, pageRows] })
      const tasks = rows as { id: string; seq: number }[]
      // Not within one transaction, in which all jobs would be of one age and be taken in any order.
      const sent = new Transaction(client, undefined)
      for (const { id } of tasks) await jobs.send(sent, id)
      await Promise.all(sent.unanswered)
      queued += tasks.length
      if (tasks.length < pageRows) return queued
      afterSeq = tasks.at(-1)!.seq
    }
  } finally {
    await jobs.close()
  }
}
