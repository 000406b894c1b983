import { expect } from 'vitest'
import { RawConnection } from '../support/raw-http.ts'
import type { Answer } from '../support/test-service.ts'

// How much of the service's thread a request takes: of its processor, not of the clock, which others share.

/** What the thread worked for a request, and the longest that its loop stood still, in milliseconds of processor time. */
type Work = { ms: number; stopMs: number; status: number }

const usedMs = () => {
  const { system, user } = process.threadCpuUsage()
  return (system + user) / 1000
}

/** Sends a request, and works on nothing else until it is answered. */
async function workOf(url: string, bytes: Buffer): Promise<Work> {
  using connection = await RawConnection.open(url)
  const began = usedMs()
  let [last, stopMs, isOver] = [began, 0, false]
  const turn = () => {
    const now = usedMs()
    stopMs = Math.max(stopMs, now - last)
    last = now
    if (!isOver) setImmediate(turn)
  }
  setImmediate(turn)
  await connection.send(bytes)
  const answer: Answer | undefined = await connection.readAnswer()
  isOver = true
  turn()
  return { ms: usedMs() - began, stopMs, status: answer?.status ?? 0 }
}

const triesMax = 4
const loopStopMsMax = 100
/** On a slower machine the loop may stand still for so many times a known work. */
const referenceShare = 6
/** Work that is too little to say how it grows; the system counts in steps of several milliseconds. */
const measurableMs = 40

/** The least of several runs of a known work: what the parser takes for as many names as a body may have. */
function referenceMs(): number {
  const text = JSON.stringify(Object.fromEntries(Array.from({ length: 50_000 }, (_, at) => [`name${at * 7919}`, at])))
  const runs = Array.from({ length: 3 }, () => {
    const began = usedMs()
    const value: unknown = JSON.parse(JSON.stringify(JSON.parse(text)))
    return value === undefined ? 0 : usedMs() - began
  })
  return Math.min(...runs)
}

type Measured = { what: string; url: string; make: (share: number) => Buffer }

/** Asserts that no turn of the loop is too long for a request at its limit, and that it is linear in its size. */
export async function expectLinearWork({ make, url, what }: Measured): Promise<void> {
  const most = make(1)
  let whole = await least(url, most, ({ stopMs }) => stopMs < loopStopMsMax * 0.8)
  const allowedMs = Math.max(loopStopMsMax, whole.stopMs > loopStopMsMax ? referenceShare * referenceMs() : 0)
  expect(whole.stopMs, `${what}: the loop stands still`).toBeLessThanOrEqual(allowedMs)
  expect(whole.status, `${what} is answered`).toBeGreaterThanOrEqual(200)
  if (whole.ms < measurableMs) return
  const part = await least(url, make(1 / 8), () => true)
  // Linear is 8 times, n log n about 10, and quadratic 64 times.
  const linearMs = 24 * Math.max(part.ms, measurableMs / 8)
  if (whole.ms > linearMs) whole = await least(url, most, ({ ms }) => ms <= linearMs)
  expect(whole.ms, `${what}: an eighth takes ${part.ms} ms`).toBeLessThanOrEqual(linearMs)
}

async function least(url: string, bytes: Buffer, isEnough: (work: Work) => boolean): Promise<Work> {
  let best = await workOf(url, bytes)
  for (let run = 1; run < triesMax && !isEnough(best); run++) {
    const again = await workOf(url, bytes)
    best = { ...again, ms: Math.min(best.ms, again.ms), stopMs: Math.min(best.stopMs, again.stopMs) }
  }
  return best
}
