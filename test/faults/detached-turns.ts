import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { parseUsd } from '../../server/kernel/money.ts'
import { say } from '../support/chat-agents.ts'
import { ChatReader } from '../support/chat-reader.ts'
import { startProcess, type ServerProcess } from '../support/test-process.ts'
import { newDataDir } from '../support/test-service.ts'
import { demand, demandEqual, until } from '../support/until.ts'
import { FaultDatabase } from './fault-database.ts'
import { checkRows, settings, untilAlone, untilIdle } from './fault-invariants.ts'
import { call, FaultLoad, openRichAccount, type Account } from './fault-load.ts'
import { databaseEnv, newDatabasePlace } from './fault-place.ts'
import { reportOn, type FaultOptions, type FaultReport, type Tally } from './fault-report.ts'
import { dataDirOf, readPlace, type Place } from './row-source.ts'

// Turns that continue without a reader, in processes that are killed. Afterwards each accepted turn must either have
// finished and be charged once, or have failed and be free. Rereading it must return the same events to the end, or
// report that its events are gone.

const clients = 8
const killsPerPlace = 10
const loadMs = 2500
const deltas = 'Some words that nobody waits for. '

type Left = { turnId: string; sessionId: string; body: object; key: string | null; read: string }
type Unanswered = Pick<Left, 'sessionId' | 'body' | 'key'>
type Row = { id: string; session: string; outcome: string; cost: number; charges: number; charged: number }

export function run(options: FaultOptions): Promise<FaultReport> {
  return reportOn('detached-turns', options, async (tally) => {
    for (let done = 0; done < options.times; done += killsPerPlace) {
      const dataDir = newDataDir()
      await killNodes(tally, {
        place: dataDir,
        dataDirs: [dataDir],
        kills: Math.min(killsPerPlace, options.times - done),
      })
    }
  })
}

/**
 * Runs two nodes on PostgreSQL and kills one of them. Turns on the other node must continue, and both nodes must be
 * able to read them.
 */
export function runPostgres(options: FaultOptions): Promise<FaultReport> {
  return reportOn('detached-turns-postgres', options, async (tally) => {
    const database = await FaultDatabase.start({ isDurable: false })
    try {
      const place = await newDatabasePlace(database)
      await killNodes(tally, { place, dataDirs: [place.dataDir, newDataDir()], kills: options.times })
    } finally {
      await database.stop()
    }
  })
}

type Nodes = { place: Place; dataDirs: readonly string[]; kills: number }

async function killNodes(tally: Tally, { dataDirs, kills, place }: Nodes): Promise<void> {
  const { random } = tally
  const database = typeof place === 'string' ? {} : { ...databaseEnv(place), ERRAND_LEASE_SECONDS: '2' }
  const start = (dataDir: string) => startProcess({ dataDir, env: { ...settings, ...database } })
  const account = await openRichAccount(place)
  const servers: ServerProcess[] = []
  for (const dataDir of dataDirs) servers.push(await start(dataDir))
  const load = new DetachedLoad(account, { tally, place })
  try {
    for (let kill = 1; kill <= kills; kill++) {
      const isHeld = await tally.attempt(`kill ${kill}`, async () => {
        const loading = load.run(servers.map(({ url }) => url))
        await delay(300 + random.next() * loadMs)
        const node = random.below(servers.length)
        demandEqual(await servers[node]!.end('SIGKILL'), null, 'the exit code of what was killed')
        load.stop()
        await loading
        if (servers.length === 1) await untilAlone(place)
        servers[node] = await start(dataDirs[node]!)
        await load.check(servers.map(({ url }) => url))
      })
      if (!isHeld) break
    }
    for (const server of servers) demandEqual(await server.end('SIGTERM'), 0, 'the exit code')
    tally.notes.push(load.told)
  } finally {
    await Promise.all(servers.map((server) => server.end('SIGKILL')))
  }
  for (const dataDir of new Set([...dataDirs, dataDirOf(place)])) rmSync(dataDir, { recursive: true, force: true })
}

class DetachedLoad {
  readonly #account: Account
  readonly #place: Place
  readonly #tally: Tally
  readonly #rows: FaultLoad
  #left: Left[] = []
  #unanswered: Unanswered[] = []
  #isOver = false
  readonly #ends: Record<string, number> = {}
  #turns = 0

  constructor(account: Account, { place, tally }: { place: Place; tally: Tally }) {
    this.#account = account
    this.#place = place
    this.#tally = tally
    this.#rows = new FaultLoad(account, tally.random)
  }

  get told(): string {
    const ends = Object.entries(this.#ends).map(([end, count]) => `${end} ${count}`)
    return `${this.#turns} turns were left or lost with their process: ${ends.join(', ')}`
  }

  stop(): void {
    this.#isOver = true
  }

  /** Runs the clients until stopped. A client ends when its node is dead. */
  async run(urls: readonly string[]): Promise<void> {
    this.#isOver = false
    const client = async (n: number) => {
      const url = urls[n % urls.length]!
      while (!this.#isOver && (await this.#begin(url, urls)));
    }
    await Promise.all(Array.from({ length: clients }, (_, n) => client(n)))
  }

  /** Starts one turn, leaves it after some lines, and sometimes rereads it once. Returns false if its node is gone. */
  async #begin(url: string, urls: readonly string[]): Promise<boolean> {
    const { random } = this.#tally
    const session = await call(url, this.#account, ['POST', '/api/sessions', { agentId: 'talk' }]).catch(
      () => undefined,
    )
    if (!session) return false
    demandEqual(session.status, 200, 'the status of a session')
    const { sessionId } = session.body
    const flood = { do: 'flood', times: 1 + random.below(60), delta: deltas, everyMs: random.below(30) } as const
    const body = { sessionId, message: say(flood), onDisconnect: 'continue' }
    const key = random.below(2) === 0 ? randomUUID() : null
    const reader = await this.#send(url, { body, key }).catch(() => undefined)
    if (!reader) {
      this.#unanswered.push({ sessionId, body, key })
      return false
    }
    demandEqual(reader.status, 200, 'the status of a chat')
    const left: Left = { turnId: String(reader.headers['errand-turn-id']), sessionId, body, key, read: '' }
    this.#left.push(left)
    await this.#readSome(reader, { left, after: 0 })
    if (random.below(2) === 0) {
      await delay(random.below(200))
      const after = random.below(linesOf(left.read).length + 1)
      const again = await this.#read(urls[random.below(urls.length)]!, left, after).catch(() => undefined)
      if (again?.status === 200) await this.#readSome(again, { left, after })
    }
    return true
  }

  #send(url: string, { body, key }: Pick<Left, 'body' | 'key'>): Promise<ChatReader> {
    return ChatReader.open({
      url,
      key: this.#account.key,
      body,
      headers: key === null ? {} : { 'Idempotency-Key': key },
    })
  }

  #read(url: string, { turnId }: Left, after: number): Promise<ChatReader> {
    return ChatReader.open({ url, key: this.#account.key, path: `/api/chat/${turnId}/events?after=${after}` })
  }

  /** Reads some or all lines. Lines read before must be unchanged. */
  async #readSome(reader: ChatReader, { after, left }: { left: Left; after: number }): Promise<void> {
    const lines = this.#tally.random.below(40)
    const isOver = reader.all().then(
      () => true,
      () => true,
    )
    for (let hasEnded = false; !hasEnded && !this.#isOver && reader.events.length < lines;) {
      hasEnded = await Promise.race([isOver, delay(5, false)])
    }
    reader.leave()
    const read = linesOf(reader.text)
    const known = linesOf(left.read).slice(after)
    const common = Math.min(read.length, known.length)
    demandEqual(read.slice(0, common), known.slice(0, common), `what is read again of ${left.turnId} after ${after}`)
    if (read.length > known.length) left.read += read.slice(known.length).join('')
  }

  async check(urls: readonly string[]): Promise<void> {
    const { random } = this.#tally
    const anyUrl = () => urls[random.below(urls.length)]!
    for (const unanswered of this.#unanswered) await this.#repeat(anyUrl(), unanswered)
    await untilIdle(this.#place)
    checkRows(this.#place, this.#rows)
    const rows = new Map(this.#settled().map((row) => [row.id, row]))
    for (const row of rows.values()) {
      const isFree = row.outcome === 'failed'
      demandEqual(
        [Number(row.charges), Number(row.charged)],
        isFree ? [0, 0] : [1, Number(row.cost)],
        `the charges of ${row.id}`,
      )
      if (isFree) demandEqual(Number(row.cost), 0, `the cost of ${row.id}, which failed`)
    }
    demandEqual(new Set([...rows.values()].map(({ session }) => session)).size, rows.size, 'turns, each of its session')
    for (const left of this.#left) {
      const row = rows.get(left.turnId)
      demand(row, `${left.turnId}, which was accepted, is there`)
      await this.#checkEnd(anyUrl, { left, row })
    }
    this.#turns += this.#left.length
    this.#left = []
    this.#unanswered = []
  }

  #settled(): Row[] {
    return readPlace(this.#place, (source) =>
      source.all<Row>(`SELECT k.id, k.session_id AS session, k.outcome, k.cost,
          (SELECT count(*) FROM transactions t WHERE t.turn_id = k.id) AS charges,
          (SELECT coalesce(-sum(t.amount), 0) FROM transactions t WHERE t.turn_id = k.id) AS charged
        FROM turns k`),
    )
  }

  /**
   * Repeats a message with its idempotency key, which must return the same turn, if there was one. Skips a message
   * without a key, because nothing shows whether its turn exists.
   */
  async #repeat(url: string, { body, key, sessionId }: Unanswered): Promise<void> {
    if (key === null) return
    let reader = await this.#send(url, { body, key })
    // The turn of a killed node blocks its session until the lease expires.
    await until('a message is let in', 30_000, async () => {
      const end = await reader.end()
      const isBusy = reader.status === 409 && end?.code === 'SESSION_BUSY'
      if (isBusy) reader = await this.#send(url, { body, key })
      return !isBusy
    })
    demand(reader.status === 200 || reader.status === 409, `a repeated message was answered ${reader.status}`)
    if (reader.status !== 200) return
    const turnId = String(reader.headers['errand-turn-id'])
    this.#left.push({ turnId, sessionId, body, key, read: reader.text })
  }

  async #checkEnd(anyUrl: () => string, { left, row }: { left: Left; row: Row }): Promise<void> {
    const known = linesOf(left.read)
    const last = known.length === 0 ? undefined : JSON.parse(known.at(-1)!)
    if (isEnd(last)) checkTold(last, row)
    const places = [0, known.length]
    for (const after of places) {
      const what = `${left.turnId}, ${row.outcome}, read after ${after} of ${known.length}`
      const reader = await this.#read(anyUrl(), left, after)
      const events = await reader.all()
      this.#count(`${row.outcome}, ${reader.status}`)
      if (reader.status === 410) {
        demand(row.outcome !== 'failed', `${what}: its events are gone`)
        continue
      }
      if (reader.status === 204) {
        demand(isEnd(last) && after === known.length, `${what}: there is no more`)
        continue
      }
      demandEqual(reader.status, 200, what)
      if (row.outcome !== 'failed' && (await reader.wasCutOff())) {
        // The process died before it stored the last events. The next response says so.
        this.#count('breaks off')
        const next = after + events.length
        const beyond = await this.#read(anyUrl(), left, next)
        await beyond.all()
        demandEqual(beyond.status, 410, `${what}: behind ${next}, where it breaks off`)
        continue
      }
      demandEqual(await reader.wasCutOff(), false, `whether ${what} breaks off`)
      const seqs = events.map(({ seq }) => seq)
      demandEqual(
        seqs,
        seqs.map((_, n) => after + 1 + n),
        `the numbers of ${what}`,
      )
      const end = events.at(-1)
      demand(isEnd(end), `${what} ends`)
      checkTold(end, row)
      const common = Math.min(known.length - after, events.length - 1)
      demandEqual(linesOf(reader.text).slice(0, common), known.slice(after, after + common), what)
      if (end.type === 'done' && after === 0) await this.#checkText(anyUrl(), { events, left })
    }
    if (left.key === null) return
    const again = await this.#send(anyUrl(), left)
    await again.all()
    demand(again.status === 200 || again.status === 409, `a repetition of ${left.turnId} was answered ${again.status}`)
    if (again.status === 200) demandEqual(again.headers['errand-turn-id'], left.turnId, 'the turn of a repetition')
  }

  #count(end: string): void {
    this.#ends[end] = (this.#ends[end] ?? 0) + 1
  }

  /** Checks that the complete reply equals the one stored in the session. */
  async #checkText(url: string, { events, left }: { events: any[]; left: Left }): Promise<void> {
    const { body, status } = await call(url, this.#account, ['GET', `/api/sessions/${left.sessionId}/messages`])
    demandEqual(status, 200, 'the status of messages')
    const text = events.map(({ delta = '' }) => delta).join('')
    demandEqual(text.length, body.messages.at(-1).content.length, `the length of the reply ${left.turnId}`)
  }
}

type End = { type: string; costUsd?: string; error?: { code: string } }

function isEnd(event: End | undefined): event is End {
  return event?.type === 'done' || event?.type === 'error'
}

/** Checks that the turn's last event matches the ledger. */
function checkTold({ costUsd = '0', type }: End, { cost, id, outcome }: Row): void {
  demandEqual(
    [type === 'done', parseUsd(costUsd)],
    [outcome === 'finished', Number(cost)],
    `the end of ${id}, ${outcome}`,
  )
}

function linesOf(text: string): string[] {
  return text.split(/(?<=\n)/).filter((line) => line.endsWith('\n'))
}
