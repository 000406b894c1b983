import { expect } from 'vitest'
import { RawConnection } from '../support/raw-http.ts'
import type { Answer } from '../support/test-service.ts'
import { threadMs } from '../support/thread-time.ts'

// CPU time that a request takes in the service's thread. Unlike wall time, CPU time does not depend on other processes.

/**
 * The thread's total CPU time (`ms`), and the longest that it blocked the event loop (`stopMs`), both in CPU
 * milliseconds.
 */
type Spent = { ms: number; stopMs: number }
type Work = () => Promise<unknown>

/** Measures `work`. The thread must do nothing else meanwhile. */
async function spentOn(work: Work): Promise<Spent> {
  const began = threadMs()
  let [last, stopMs, isOver] = [began, 0, false]
  const turn = () => {
    const now = threadMs()
    stopMs = Math.max(stopMs, now - last)
    last = now
    if (!isOver) setImmediate(turn)
  }
  setImmediate(turn)
  await work()
  isOver = true
  turn()
  return { ms: threadMs() - began, stopMs }
}

const triesMax = 4
const loopStopMsMax = 100
/** Alternative limit for slow machines: the loop may block this many times as long as a reference computation takes. */
const referenceShare = 6
/** Smallest measurable time: the system counts CPU time in steps of several milliseconds. */
const measurableMs = 40

/** Returns the minimum of several reference runs, which parse the maximum number of names in a body. */
function referenceMs(): number {
  const text = JSON.stringify(Object.fromEntries(Array.from({ length: 50_000 }, (_, at) => [`name${at * 7919}`, at])))
  const runs = Array.from({ length: 3 }, () => {
    const began = threadMs()
    const value: unknown = JSON.parse(JSON.stringify(JSON.parse(text)))
    return value === undefined ? 0 : threadMs() - began
  })
  return Math.min(...runs)
}

/**
 * Asserts that a request at its limit does not block the event loop for long, and that its cost is linear in its size.
 */
export async function expectLinearWork(of: {
  what: string
  url: string
  make: (share: number) => Buffer
}): Promise<void> {
  const { make, url, what } = of
  const request = (share: number) => {
    const bytes = make(share)
    return async () => {
      using connection = await RawConnection.open(url)
      await connection.send(bytes)
      const answer: Answer | undefined = await connection.readAnswer()
      expect(answer?.status, `${what} is answered`).toBeGreaterThanOrEqual(200)
    }
  }
  const most = request(1)
  const whole = await least(most, ({ stopMs }) => stopMs < loopStopMsMax * 0.8)
  const allowedMs = Math.max(loopStopMsMax, whole.stopMs > loopStopMsMax ? referenceShare * referenceMs() : 0)
  expect(whole.stopMs, `${what}: the loop stands still`).toBeLessThanOrEqual(allowedMs)
  await expectGrowth(whole, { what, make: request, most })
}

/** Asserts that the work for a fraction of the limit grows linearly with that fraction. */
export async function expectLinear(of: { what: string; make: (share: number) => Work }): Promise<void> {
  const most = of.make(1)
  await expectGrowth(await least(most, () => true), { ...of, most })
}

type Growing = { what: string; make: (share: number) => Work; most: Work }

async function expectGrowth(first: Spent, { make, most, what }: Growing): Promise<void> {
  let { ms } = first
  if (ms < measurableMs) return
  const part = await least(make(1 / 8), () => true)
  // From 1/8 of the limit to all of it, linear work grows 8-fold, n log n work about 10-fold, and quadratic work
  // 64-fold.
  const linearMs = 24 * Math.max(part.ms, measurableMs / 8)
  if (ms > linearMs) ms = (await least(most, (spent) => spent.ms <= linearMs)).ms
  expect(ms, `${what}: an eighth takes ${part.ms} ms`).toBeLessThanOrEqual(linearMs)
}

async function least(work: Work, isEnough: (spent: Spent) => boolean): Promise<Spent> {
  let best = await spentOn(work)
  for (let run = 1; run < triesMax && !isEnough(best); run++) {
    const again = await spentOn(work)
    best = { ms: Math.min(best.ms, again.ms), stopMs: Math.min(best.stopMs, again.stopMs) }
  }
  return best
}
