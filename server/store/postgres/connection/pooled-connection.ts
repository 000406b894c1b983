import type { Clock, EpochMs } from '../../../kernel/clock.ts'
import type { PgClient } from './driver.ts'

/** Milliseconds since the epoch at this moment, not at the start of the transaction, by the one clock that all nodes share. */
export const databaseTime = 'floor(extract(epoch FROM clock_timestamp()) * 1000)::float8'

/** A connection of the pool while a read has it. */
export class Connection {
  readonly client: PgClient
  protected readonly clock: Clock | undefined

  constructor(client: PgClient, clock: Clock | undefined) {
    this.client = client
    this.clock = clock
  }

  /** The time of the clock that was given; null where the database tells it. */
  get givenTime(): EpochMs | null {
    return this.clock ? this.clock.now() : null
  }

  async now(): Promise<EpochMs> {
    if (this.clock) return this.clock.now()
    const { rows } = await this.client.query({ name: 'now', text: `SELECT ${databaseTime} AS now` })
    return (rows[0] as { now: number }).now
  }
}
