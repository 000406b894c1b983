import { randomUUID } from 'node:crypto'
import { messageOf } from '../../../kernel/thrown.ts'
import type { Signals, SignalTopic } from '../../shared.ts'
import { newClient, type PgListener, type PgPool, withoutPooler } from '../connection/driver.ts'
import { SignalBatch, signalsIn } from './signal-batch.ts'

// Sends messages between nodes with LISTEN and NOTIFY, on a dedicated connection.
//
//   resting ──first use──▶ connecting ──LISTEN──▶ listening ──probe received──▶ live
//                              ▲                      │  ▲                       │
//                              │                      │  └──probe missed─────────┤
//                              └─────── backoff ◀──connection lost───────────────┘
//
// A probe is a message that the process sends to itself over another connection. Only a probe detects a pooler in
// transaction mode, which accepts LISTEN but delivers nothing. While the state is not `live`, all subscribers poll
// periodically.

const channel = 'errand'
/** Messages are collected for this long before they are sent. `busyBatchMs` applies under load. */
const batchMs = 3
const busyBatchMs = 10
const busyWithinMs = 20
const closeMsMax = 1000
const backOffMsMax = 10_000
const failuresWarned = 3

// Notifications need not be durable, so their commit does not wait for the disk. The setting applies only to the
// transaction, because a pooler may share the connection.
const notify = `SELECT set_config('synchronous_commit', 'off', true), pg_notify('${channel}', payload)
  FROM unnest($1::text[]) AS payload`

export type PgSignalsOptions = {
  databaseUrl: string
  pool: PgPool
  onWarning?: ((message: string) => void) | undefined
  probeMs?: number
  probeMsMax?: number
  /** How often subscribers poll while messages cannot be received. */
  pollMs?: number
}

export class PgSignals implements Signals {
  readonly #options: PgSignalsOptions
  readonly #listeners = new Map<SignalTopic, Set<(id: string) => void>>()
  readonly #gapListeners = new Set<() => void>()
  readonly #batch = new SignalBatch()
  readonly #probeMs: number
  readonly #probeMsMax: number
  readonly #pollMs: number
  #state: 'resting' | 'connecting' | 'listening' | 'live' | 'closed' = 'resting'
  #client: PgListener | undefined
  #failures = 0
  #hasWarnedOfLostMessages = false
  #flushing: Promise<void> | undefined
  #isFlushPlanned = false
  #flushedAt = -Infinity
  #reconnectTimer: NodeJS.Timeout | undefined
  #probeTimer: NodeJS.Timeout | undefined
  #lookTimer: NodeJS.Timeout | undefined
  #pendingProbe: { text: string; isHeard: boolean; resolve: () => void } | undefined

  constructor(options: PgSignalsOptions) {
    this.#options = options
    this.#probeMs = options.probeMs ?? 10_000
    this.#probeMsMax = options.probeMsMax ?? 5000
    this.#pollMs = options.pollMs ?? 2000
  }

  send(topic: SignalTopic, id: string): void {
    if (this.#state === 'closed') return
    this.#start()
    this.#batch.add(topic, id)
    this.#planFlush()
  }

  on(topic: SignalTopic, listener: (id: string) => void): () => void {
    const listeners = this.#listeners.get(topic) ?? new Set()
    this.#listeners.set(topic, listeners.add(listener))
    this.#start()
    return () => listeners.delete(listener)
  }

  onGap(listener: () => void): () => void {
    this.#gapListeners.add(listener)
    this.#start()
    return () => this.#gapListeners.delete(listener)
  }

  /** Sends the queued messages within `closeMsMax`, then closes the connection. */
  async close(): Promise<void> {
    if (this.#state === 'closed') return
    this.#state = 'closed'
    clearTimeout(this.#reconnectTimer)
    clearTimeout(this.#probeTimer)
    clearInterval(this.#lookTimer)
    this.#pendingProbe?.resolve()
    const client = this.#client
    if (!client) return
    // Keep the process alive until the connection is closed.
    client.ref()
    const ended = async () => {
      await this.#flushing
      await this.#flush()
      await client.end()
    }
    let timer: NodeJS.Timeout | undefined
    const isOver = new Promise<void>((resolve) => (timer = setTimeout(resolve, closeMsMax)))
    await Promise.race([ended().catch(ignore), isOver])
    clearTimeout(timer)
    client.unref()
  }

  /** Connects on first use. A process that neither sends nor subscribes, such as a CLI command, never connects. */
  #start(): void {
    if (this.#state !== 'resting') return
    this.#lookTimer = setInterval(() => {
      if (this.#state !== 'live') this.#tellGap()
    }, this.#pollMs).unref()
    this.#open()
  }

  #open(): void {
    this.#connect().catch((error: unknown) =>
      this.#warn(`the nodes cannot send each other notifications: ${messageOf(error)}`),
    )
  }

  async #connect(): Promise<void> {
    this.#state = 'connecting'
    const client = newClient({
      connectionString: this.#options.databaseUrl,
      application_name: 'errand signals',
      connectionTimeoutMillis: 5000,
      query_timeout: 5000,
      keepAlive: true,
      pipeline: true,
    })
    let isLost = false
    const lost = (error?: Error) => {
      if (isLost) return
      isLost = true
      this.#lost(client, error)
    }
    client.on('error', lost)
    client.on('end', () => lost())
    client.on('notification', ({ payload }) => this.#received(payload ?? ''))
    this.#client = client
    try {
      await client.connect()
      client.unref()
      await client.query(`LISTEN ${channel}`)
    } catch (error) {
      lost(error instanceof Error ? error : undefined)
      return
    }
    // The connection may have been lost, or this instance closed, in the meantime.
    if (isLost || !this.#moveFrom('connecting', 'listening')) return void client.end().catch(ignore)
    this.#failures = 0
    this.#planFlush()
    await this.#probe(client)
  }

  #lost(client: PgListener, error: Error | undefined): void {
    client.end().catch(ignore)
    clearTimeout(this.#probeTimer)
    this.#pendingProbe?.resolve()
    if (this.#client === client) this.#client = undefined
    if (this.#state === 'closed') return
    this.#state = 'connecting'
    this.#failures++
    if (this.#failures === failuresWarned) {
      const reason = error ? `: ${error.message}` : '.'
      this.#warn(`the nodes of this database cannot send each other notifications, so they poll${reason}`)
    }
    const pauseMs = Math.min(100 * 2 ** Math.min(this.#failures, 10), backOffMsMax) * (0.5 + Math.random() / 2)
    this.#reconnectTimer = setTimeout(() => this.#open(), pauseMs).unref()
  }

  /** Checks now and every `probeMs` whether messages arrive and the connection is alive. */
  async #probe(client: PgListener): Promise<void> {
    const isHeard = await this.#receivesOwnProbe(client)
    if (this.#client !== client || this.#state === 'closed') return
    if (isHeard && this.#moveFrom('listening', 'live')) this.#tellGap()
    if (isHeard === false) {
      this.#moveFrom('live', 'listening')
      this.#warnOfDeafness()
    }
    this.#probeTimer = setTimeout(() => void this.#probe(client), this.#probeMs).unref()
  }

  /** Sends a probe and returns whether it arrived, or undefined if that is unknown. */
  async #receivesOwnProbe(client: PgListener): Promise<boolean | undefined> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const probe = { text: `probe:${randomUUID()}`, isHeard: false, resolve }
    this.#pendingProbe = probe
    let timer: NodeJS.Timeout | undefined
    try {
      await this.#options.pool.query(notify, [[probe.text]])
      timer = setTimeout(resolve, this.#probeMsMax).unref()
      await promise
      if (probe.isHeard) return true
    } catch {
      // The pool may have had no free connection for the probe, which says nothing about the listening connection.
    } finally {
      clearTimeout(timer)
    }
    try {
      // This process may have been too busy to read the probe, so send a query. Messages in transit arrive before its
      // answer. If the server does not answer, the driver closes the connection.
      await client.query('SELECT 1')
      if (probe.isHeard) return true
      return timer === undefined ? undefined : false
    } catch {
      return undefined
    }
  }

  #warnOfDeafness(): void {
    if (this.#hasWarnedOfLostMessages) return
    this.#hasWarnedOfLostMessages = true
    this.#warn(
      `notifications from the database do not arrive, probably because of a pooler in transaction mode. The nodes poll instead, which is slower. ${withoutPooler}`,
    )
  }

  #warn(message: string): void {
    this.#options.onWarning?.(message)
  }

  #received(payload: string): void {
    const probe = this.#pendingProbe
    if (probe && payload === probe.text) {
      probe.isHeard = true
      return probe.resolve()
    }
    for (const { id, topic } of signalsIn(payload)) {
      for (const listener of this.#listeners.get(topic) ?? []) this.#tell(() => listener(id))
    }
  }

  #tellGap(): void {
    for (const listener of this.#gapListeners) this.#tell(listener)
  }

  #tell(listener: () => void): void {
    try {
      listener()
    } catch (error) {
      this.#warn(`could not handle a signal: ${messageOf(error)}`)
    }
  }

  #planFlush(): void {
    if (this.#isFlushPlanned || this.#flushing) return
    this.#isFlushPlanned = true
    const isBusy = performance.now() - this.#flushedAt < busyWithinMs
    const timer = setTimeout(
      () => {
        this.#isFlushPlanned = false
        void this.#flush()
      },
      isBusy ? busyBatchMs : batchMs,
    )
    timer.unref()
  }

  async #flush(): Promise<void> {
    const client = this.#client
    const isUsable = this.#state !== 'connecting' && this.#state !== 'resting'
    if (this.#flushing || !client || !isUsable || this.#batch.isEmpty) return
    this.#flushedAt = performance.now()
    this.#flushing = this.#notify(client, this.#batch.take())
    await this.#flushing
    this.#flushing = undefined
    if (!this.#batch.isEmpty) this.#planFlush()
  }

  /**
   * Payloads that the server rejects are lost. Other nodes tolerate this, because they also poll. If the connection was
   * lost, the payloads are sent over the next one.
   */
  async #notify(client: PgListener, payloads: readonly string[]): Promise<void> {
    try {
      await client.query(notify, [payloads])
    } catch {
      if (this.#client !== client) this.#batch.putBack(payloads)
    }
  }

  #moveFrom(from: 'connecting' | 'listening' | 'live', to: 'listening' | 'live'): boolean {
    if (this.#state !== from) return false
    this.#state = to
    return true
  }
}

const ignore = () => {}
