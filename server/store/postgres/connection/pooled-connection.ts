import type { Clock, EpochMs } from '../../../kernel/clock.ts'
import type { PgClient } from './driver.ts'

/**
 * Current time of the database server in milliseconds since the epoch. Unlike now(), this is not the start of the
 * transaction.
 */
export const databaseTime = 'floor(extract(epoch FROM clock_timestamp()) * 1000)::float8'

export class Connection {
  readonly client: PgClient
  protected readonly clock: Clock | undefined

  constructor(client: PgClient, clock: Clock | undefined) {
    this.client = client
    this.clock = clock
  }

  /** Returns the time of the injected clock, or null if the database supplies the time. */
  get givenTime(): EpochMs | null {
    return this.clock ? this.clock.now() : null
  }

  async now(): Promise<EpochMs> {
    if (this.clock) return this.clock.now()
    const { rows } = await this.client.query({ name: 'now', text: `SELECT ${databaseTime} AS now` })
    return (rows[0] as { now: number }).now
  }
}
