import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { ChatReader } from '../support/chat-reader.ts'
import { startProcess, type ServerProcess } from '../support/test-process.ts'
import { newDataDir } from '../support/test-service.ts'
import { openAccount } from '../runner/process-client.ts'
import { checkRows, readRows, untilIdle } from './fault-invariants.ts'
import { call, FaultLoad, type Account, type Reply } from './fault-load.ts'
import { compilePreload } from './compile-preload.ts'
import { reportOn, type FaultOptions, type FaultReport } from './fault-report.ts'
import { demand, demandEqual, until } from '../support/until.ts'

const dayAndHour = 25 * 3600
const executionsMax = 10
const windowMs = 60_000

class Visitor {
  readonly url: string
  readonly account: Account

  constructor(url: string, account: Account) {
    this.url = url
    this.account = account
  }

  #send(method: string, path: string, body?: unknown): Promise<Reply> {
    return call(this.url, this.account, [method, path, body])
  }

  async create(endpointId = 'test.echo'): Promise<number> {
    return (await this.#send('POST', '/api/tasks', { endpointId, params: {} })).status
  }

  /**
   * Creates tasks until the service rejects one, and returns the number accepted. If the tasks fail by design, an abuse
   * block may be the reason.
   */
  async createAll(endpointId?: 'test.fail'): Promise<number> {
    for (let accepted = 0; ; accepted++) {
      const status = await this.create(endpointId)
      if (status === 200) continue
      const isBlocked = endpointId === 'test.fail' && status === 403
      if (!isBlocked) demandEqual(status, 429, `the refusal after ${accepted} tasks`)
      return accepted
    }
  }

  async openSession(): Promise<string> {
    const { body } = await this.#send('POST', '/api/sessions', { agentId: 'talk' })
    demandEqual(await this.chat(body.sessionId), 200, 'the first message')
    return body.sessionId
  }

  async statusOf(sessionId: string): Promise<string> {
    return (await this.#send('GET', `/api/sessions/${sessionId}`)).body.status
  }

  async chat(sessionId: string): Promise<number> {
    const body = { sessionId, message: 'Hello' }
    const reader = await ChatReader.open({ url: this.url, key: this.account.key, body })
    await reader.all()
    return reader.status
  }

  async isBlocked(): Promise<boolean> {
    return (await this.#send('GET', '/api/account')).body.blockedUntil !== null
  }
}

/** Moves the system clock 25 hours ahead, back, and 25 hours behind, under a running server and across kill -9. */
export function run(options: FaultOptions): Promise<FaultReport> {
  return reportOn('clock-jumps', options, async (tally) => {
    for (let n = 0; n < options.times; n++) {
      const dataDir = newDataDir()
      const people: Account[] = []
      for (const name of ['rate', 'session', 'block']) people.push(await openAccount(dataDir, `${name}@example.com`))
      const offset = join(dataDir, 'offset')
      const jump = async (bySeconds: number) => {
        // Replaces the file atomically, because the server may read it at any time.
        writeFileSync(`${offset}.next`, String(bySeconds))
        renameSync(`${offset}.next`, offset)
        await delay(50)
      }
      await jump(0)
      const env = {
        ERRAND_AGENT_THREADS: '1',
        ERRAND_LOG_LEVEL: 'error',
        ERRAND_MAX_LOOP_DELAY_MS: '60000',
        LD_PRELOAD: compilePreload('clock-jump', dataDir),
        CLOCK_OFFSET_FILE: offset,
      }
      const server = await startProcess({ dataDir, env })
      await tally.attempt('ahead and back', () => jumpAbout(server, { env, dataDir, people, jump }))
      await tally.attempt('every row', async () => {
        await server.end('SIGKILL')
        checkRows(dataDir, new FaultLoad(people[0]!, tally.random), { isAllKnown: false })
        checkWindows(dataDir)
      })
      rmSync(dataDir, { recursive: true })
    }
  })
}

type Jump = {
  env: Record<string, string>
  dataDir: string
  people: Account[]
  jump: (bySeconds: number) => Promise<void>
}

async function jumpAbout(server: ServerProcess, { env, dataDir, jump, people }: Jump): Promise<void> {
  const [rate, session, block] = people.map((account) => new Visitor(server.url, account)) as [
    Visitor,
    Visitor,
    Visitor,
  ]
  demandEqual(await rate.createAll(), executionsMax, 'executions of a window')
  const early = await session.openSession()
  demandEqual(await block.createAll('test.fail'), executionsMax, 'failures of a window')
  await until('the 10th failure blocks', 10_000, () => block.isBlocked())

  await jump(dayAndHour)
  demandEqual(await session.statusOf(early), 'expired', 'a session after 25 hours')
  demandEqual(await session.chat(early), 410, 'a chat in an expired session')
  demandEqual(await block.isBlocked(), false, 'whether the block is still there')
  demandEqual(await block.create(), 200, 'a task after the block')
  demandEqual(await rate.createAll(), executionsMax, 'executions of the next window')
  const late = await session.openSession()

  for (const by of [0, -dayAndHour, 3600]) {
    await jump(by)
    demandEqual(await rate.create(), 429, `the window after ${by} s`)
    demandEqual(await session.statusOf(late), 'active', `a new session after ${by} s`)
    demandEqual(await session.chat(late), 200, `a chat after ${by} s`)
    demandEqual(await block.create('test.stubborn'), 200, `a task after ${by} s`)
    await untilIdle(dataDir)
  }
  await server.end('SIGKILL')
  await jump(0)
  const again = await startProcess({ dataDir, env })
  try {
    const visitor = new Visitor(again.url, rate.account)
    demandEqual(await visitor.create(), 429, 'the window after a restart whose clock is behind')
    demandEqual(await again.end('SIGTERM'), 0, 'the exit code')
  } finally {
    await again.end('SIGKILL')
  }
}

/** Checks that no window of 60 seconds contains more accepted executions of a user than allowed. */
function checkWindows(dataDir: string): void {
  readRows(dataDir, (db) => {
    const rows = db
      .prepare<[], { user: string; at: number }>(
        'SELECT user_id AS user, created_at AS at FROM (SELECT user_id, created_at FROM tasks UNION ALL SELECT user_id, created_at FROM turns) ORDER BY 1, 2',
      )
      .all()
    for (const [n, { at, user }] of rows.entries()) {
      const next = rows[n + executionsMax]
      demand(
        !next || next.user !== user || next.at - at >= windowMs,
        `${user} has more than ${executionsMax} in a minute`,
      )
    }
  })
}
