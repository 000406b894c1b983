import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { say, type Step } from '../support/chat-agents.ts'
import { ChatReader } from '../support/chat-reader.ts'
import { startProcess, type ServerProcess } from '../support/test-process.ts'
import { newDataDir } from '../support/test-service.ts'
import { isInTime } from './busy-machine.ts'
import { checkRows, readRows, settings } from './fault-invariants.ts'
import { call, FaultLoad, openRichAccount } from './fault-load.ts'
import { reportOn, type FaultOptions, type FaultReport } from './fault-report.ts'
import { demand, demandEqual, until } from '../support/until.ts'

const abortMsMax = 1000
const pause: Step = { do: 'sleep', ms: 3 }

function lineOf(n: number): Step[] {
  const lines: Step[][] = [
    [{ do: 'text', delta: 'Some words. ' }],
    [{ do: 'reasoning', delta: 'A thought. ' }],
    [{ do: 'call', id: `call-${n}` }],
    [{ do: 'result', id: `call-${n - 1}`, output: { n } }],
  ]
  return [...lines[n % lines.length]!, pause]
}

/** Disconnects after line k of a reply of `times` lines, for every k, and once more after the last line. */
export function run(options: FaultOptions): Promise<FaultReport> {
  return reportOn('disconnects', options, async (tally) => {
    const lines = options.times
    const dataDir = newDataDir()
    const load = new FaultLoad(await openRichAccount(dataDir), tally.random)
    const server = await startProcess({ dataDir, env: settings })
    const delays: number[] = []
    try {
      for (let k = 1; k <= lines; k++) {
        await tally.attempt(`after line ${k} of ${lines}`, async () => {
          delays.push(await leaveAfter(server, load, { k, lines, dataDir }))
        })
      }
      await tally.attempt('while the reply is read to its end', () => leaveAtEnd(server, load, dataDir))
      demandEqual(await server.end('SIGTERM'), 0, 'the exit code')
      checkRows(dataDir, load)
    } finally {
      await server.end('SIGKILL')
    }
    tally.notes.push(`aborted after at most ${Math.max(0, ...delays)} ms`)
    rmSync(dataDir, { recursive: true })
  })
}

type Leave = { k: number; lines: number; dataDir: string }

async function leaveAfter({ url }: ServerProcess, { account }: FaultLoad, of: Leave): Promise<number> {
  const { dataDir, k, lines } = of
  const file = join(dataDir, `aborted-${k}`)
  const { body: session } = await call(url, account, ['POST', '/api/sessions', { agentId: 'talk' }])
  const steps = Array.from({ length: lines }, (_, n) => lineOf(n)).flat()
  const message = say({ do: 'note-abort', file }, ...steps, { do: 'await-abort' })
  const reader = await ChatReader.open({ url, key: account.key, body: { sessionId: session.sessionId, message } })
  await until(`line ${k}`, 10_000, () => reader.events.length >= k)
  const leftAt = Date.now()
  reader.leave()
  await until('the agent is aborted', 5000, () => existsSync(file) && readFileSync(file, 'utf8').endsWith('\n'))
  const abortedMs = Number(readFileSync(file, 'utf8')) - leftAt
  demand(isInTime(abortedMs, abortMsMax), `the agent was aborted after ${abortedMs} ms`)
  await expectSettledOnce(dataDir, session.sessionId, 'truncated')
  return abortedMs
}

async function leaveAtEnd({ url }: ServerProcess, { account }: FaultLoad, dataDir: string): Promise<void> {
  const { body: session } = await call(url, account, ['POST', '/api/sessions', { agentId: 'talk' }])
  const body = { sessionId: session.sessionId, message: 'Hello' }
  const reader = await ChatReader.open({ url, key: account.key, body })
  await reader.until('done')
  reader.leave()
  await expectSettledOnce(dataDir, session.sessionId, 'finished')
}

async function expectSettledOnce(dataDir: string, sessionId: string, outcome: string): Promise<void> {
  const select = `SELECT outcome, cost, (SELECT json_group_array(amount) FROM transactions t WHERE t.turn_id = k.id) AS charges
    FROM turns k WHERE session_id = ?`
  type Turn = { outcome: string | null; cost: number; charges: string }
  const read = () => readRows(dataDir, (db) => db.prepare<[string], Turn>(select).all(sessionId))
  await until('the turn is settled', 5000, () => read().every((turn) => turn.outcome !== null))
  const [turn, ...more] = read()
  demand(turn && more.length === 0, 'there is one turn')
  demandEqual(turn.outcome, outcome, 'the outcome')
  demandEqual(turn.charges, JSON.stringify([-turn.cost]), 'the charges of the turn')
}
