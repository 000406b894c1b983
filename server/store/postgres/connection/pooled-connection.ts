import type { Clock, EpochMs } from '../../../kernel/clock.ts'
import type { PgClient } from './driver.ts'

/**
 * SQL for the current time in epoch milliseconds by the clock that all nodes share, not the transaction's start time.
 */
export const databaseTime = 'floor(extract(epoch FROM clock_timestamp()) * 1000)::float8'

export class Connection {
  readonly client: PgClient
  protected readonly clock: Clock | undefined

  constructor(client: PgClient, clock: Clock | undefined) {
    this.client = client
    this.clock = clock
  }

  /** Time of the injected clock; null if the database supplies the time. */
  get givenTime(): EpochMs | null {
    return this.clock ? this.clock.now() : null
  }

  async now(): Promise<EpochMs> {
    if (this.clock) return this.clock.now()
    const { rows } = await this.client.query({ name: 'now', text: `SELECT ${databaseTime} AS now` })
    return (rows[0] as { now: number }).now
  }
}
