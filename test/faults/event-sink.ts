import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { demand, demandEqual, until } from '../support/until.ts'
import { call, type Account } from './fault-load.ts'
import { countRows, readPlace, type Place } from './row-source.ts'

const deliveredMsMax = 90_000
type Row = { id: string; body: string }

/** A webhook endpoint that accepts every event and records its bytes by id. */
export class EventSink {
  readonly #server: Server
  readonly #bodies = new Map<string, string>()
  readonly #changed: string[] = []
  /** All requests, including repeats. */
  received = 0

  private constructor() {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        this.#take(String(request.headers['webhook-id']), Buffer.concat(chunks).toString())
        response.writeHead(204).end()
      })
    })
  }

  static async open(): Promise<EventSink> {
    const sink = new EventSink()
    sink.#server.listen(0, '127.0.0.1')
    await once(sink.#server, 'listening')
    return sink
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`
  }

  #take(id: string, body: string): void {
    this.received++
    const before = this.#bodies.get(id)
    if (before !== undefined && before !== body) this.#changed.push(id)
    this.#bodies.set(id, body)
  }

  async subscribe(url: string, accounts: readonly Account[]): Promise<void> {
    const types = ['task.completed', 'task.failed', 'chat.settled']
    for (const account of accounts) {
      const { status } = await call(url, account, ['POST', '/api/webhooks', { url: this.url, types }])
      demandEqual(status, 200, 'a webhook is made')
    }
  }

  /**
   * Checks that events stored as delivered arrived with the same bytes. With `all`, every event must have been
   * delivered.
   */
  async check(place: Place, { all }: { all: boolean }): Promise<void> {
    const ofEnds = "events WHERE type IN ('task.completed', 'task.failed', 'chat.settled')"
    const unsent = `${ofEnds} AND NOT EXISTS (SELECT 1 FROM deliveries WHERE event_id = events.id)`
    demandEqual(
      readPlace(place, (rows) => countRows(rows, unsent)),
      0,
      'ends without a delivery',
    )
    if (all) {
      const isOpen = "deliveries WHERE status <> 'succeeded'"
      await until('every event is delivered', deliveredMsMax, () =>
        readPlace(place, (rows) => countRows(rows, isOpen) === 0),
      )
    }
    const delivered = "id IN (SELECT event_id FROM deliveries WHERE status = 'succeeded')"
    const kept = readPlace(place, (rows) => rows.all<Row>(`SELECT id, body FROM ${ofEnds} AND ${delivered}`))
    if (all)
      demandEqual(
        kept.length,
        readPlace(place, (rows) => countRows(rows, ofEnds)),
        'events that are delivered',
      )
    for (const { body, id } of kept) demandEqual(this.#bodies.get(id), body, `the event ${id}`)
    demandEqual(this.#changed, [], 'events that came again with other bytes')
    demand(!all || kept.length > 0, 'events came')
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }
}
