import { expect, test } from 'vitest'
import { backoffMs, isTransient, repeatWhileTransient, retryDelayMs } from '../../client/backoff.ts'
import { createClient, ErrandClientError, type Task } from '../../client/client.ts'
import { pause, withDeadline } from '../../client/deadline.ts'
import { waitForTask } from '../../client/wait-for-task.ts'
import { rejection } from './rejection.ts'
import { rpcRefusal, scriptedFetch } from './scripted-fetch.ts'
import { answer, completedTask, cut, pendingTask, refusal, result, startStub } from './stub-server.ts'

test('wait retries after 503, 429, a proxy page, a cut connection and an early response', async () => {
  const stub = await startStub(
    refusal('SERVICE_UNAVAILABLE', 503),
    refusal('RATE_LIMIT_EXCEEDED', 429),
    result(pendingTask),
    answer(502, '<h1>Bad gateway</h1>'),
    cut,
    result(completedTask),
  )
  const client = createClient({ baseUrl: stub.url, apiKey: 'key' })
  expect(await client.tasks.wait('task_1')).toEqual(completedTask)
  expect(stub.requests).toHaveLength(6)
  await stub.stop()
})

test('wait retries after a request that times out', async () => {
  const failures: ErrandClientError[] = []
  const noAnswer = new ErrandClientError('TIMEOUT', 'The service did not answer.')
  const reads = [() => Promise.reject(noAnswer), () => Promise.resolve(completedTask as unknown as Task)]
  const task = await waitForTask(
    {
      getTask: () => reads.shift()!(),
      pause: () => Promise.resolve(),
      now: () => 0,
      onFailure: (error) => void failures.push(error),
    },
    'task_1',
  )
  expect(task).toEqual(completedTask)
  expect(failures).toEqual([noAnswer])
})

test('wait gives up at its deadline and reports the last failure', async () => {
  const { fetch, sent } = scriptedFetch(rpcRefusal('SERVICE_UNAVAILABLE', 503, 3600))
  const client = createClient({ baseUrl: 'http://127.0.0.1', apiKey: 'key', fetch })
  const error = await rejection(client.tasks.wait('task_1', { timeoutMs: 500 }))
  expect(error).toMatchObject({ code: 'TIMEOUT', taskId: 'task_1', cause: { code: 'SERVICE_UNAVAILABLE' } })
  expect(error.message).toMatch(/did not end within 500 ms, but it continues\. .* The last failure was: Refused\.$/)
  // The service requested a pause of an hour, so the client did not retry.
  expect(sent).toHaveLength(1)
})

test('an abort ends a pause immediately', async () => {
  const stub = await startStub((response, request) => {
    void refusal('SERVICE_UNAVAILABLE', 503, 3600)(response, request)
    response.once('close', () => controller.abort('enough'))
  })
  const controller = new AbortController()
  const client = createClient({ baseUrl: stub.url, apiKey: 'key' })
  await expect(client.tasks.wait('task_1', { signal: controller.signal })).rejects.toBe('enough')
  await stub.stop()
})

test('wait long-polls and pauses only after responses that came too early', async () => {
  let now = 0
  const pauses: number[] = []
  const waits: number[] = []
  // Duration of each long poll in seconds.
  const held = [30, 29, 0, 0, 0, 30, 1]
  const task = await waitForTask(
    {
      getTask: (waitSeconds) => {
        waits.push(waitSeconds)
        now += held.shift()! * 1000
        return Promise.resolve((held.length > 0 ? pendingTask : completedTask) as unknown as Task)
      },
      pause: (ms) => (pauses.push(ms), Promise.resolve()),
      now: () => now,
      onFailure: () => {},
    },
    'task_1',
  )
  expect(task.status).toBe('completed')
  expect(waits).toEqual(Array.from({ length: 7 }, () => 30))
  expect(pauses).toHaveLength(3)
  for (const [index, ms] of pauses.entries()) {
    expect(ms).toBeGreaterThanOrEqual(125 * 2 ** index)
    expect(ms).toBeLessThanOrEqual(250 * 2 ** index)
  }
})

test('pauses grow with each failure, respect Retry-After and reset after a success', async () => {
  const pauses: number[] = []
  const fail = (retryAfterSeconds?: number) => () =>
    Promise.reject(new ErrandClientError('RATE_LIMIT_EXCEEDED', 'x', { status: 429, retryAfterSeconds }))
  const attempts = [fail(), fail(), fail(20), fail()]
  const repetition = {
    failuresMax: 10,
    pause: (ms: number) => (pauses.push(ms), Promise.resolve()),
    onFailure: () => {},
  }
  const attempt = () => attempts.shift()?.() ?? Promise.resolve('done')
  expect(await repeatWhileTransient(repetition, attempt)).toBe('done')
  const expected = [
    [125, 250],
    [250, 500],
    [20_000, 20_250],
    [1000, 2000],
  ] as const
  expect(pauses).toHaveLength(expected.length)
  for (const [index, [least, most]] of expected.entries()) {
    expect(pauses[index]).toBeGreaterThanOrEqual(least)
    expect(pauses[index]).toBeLessThanOrEqual(most)
  }
})

test('pauses are random within their upper half and at most 10 s without Retry-After', () => {
  expect([backoffMs(1, 0), backoffMs(1, 1), backoffMs(4, 0), backoffMs(4, 1)]).toEqual([125, 250, 1000, 2000])
  expect([backoffMs(1000, 0), backoffMs(1000, 1)]).toEqual([5000, 10_000])
  const asked = new ErrandClientError('SERVICE_UNAVAILABLE', 'x', { status: 503, retryAfterSeconds: 5 })
  expect([retryDelayMs(asked, 9, 0), retryDelayMs(asked, 9, 1)]).toEqual([5000, 5250])
  const now = new ErrandClientError('SERVICE_UNAVAILABLE', 'x', { status: 503, retryAfterSeconds: 0 })
  expect(retryDelayMs(now, 1, 0)).toBe(125)
})

test('retries only transient failures', () => {
  const of = (status: number) => isTransient(new ErrandClientError('BAD_RESPONSE', 'x', { status }))
  expect([429, 502, 503, 504].map(of)).toEqual([true, true, true, true])
  expect([200, 400, 401, 403, 404, 409, 413, 500].filter(of)).toEqual([])
  expect(isTransient(new ErrandClientError('NETWORK_ERROR', 'x'))).toBe(true)
  expect(isTransient(new ErrandClientError('TIMEOUT', 'x'))).toBe(true)
  expect(isTransient(new ErrandClientError('INVALID_ARGUMENT', 'x'))).toBe(false)
  expect(isTransient(new TypeError('fetch failed'))).toBe(false)
})

test('no timer outlives an aborted pause or deadline, so the process can exit', async () => {
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
  const before = timers()
  const controller = new AbortController()
  const { signal } = controller
  const createTimeoutError = () => new ErrandClientError('TIMEOUT', 'x')
  const given = { signal, timeoutMs: 3_600_000, createTimeoutError }
  const pauses = [pause(3_600_000, signal), withDeadline(given, (own) => pause(3_600_000, own))]
  expect(timers()).toBe(before + 3)
  controller.abort('enough')
  const outcomes = await Promise.allSettled(pauses)
  expect(outcomes).toEqual([
    { status: 'rejected', reason: 'enough' },
    { status: 'rejected', reason: 'enough' },
  ])
  expect(timers()).toBe(before)
  expect(await withDeadline(given, () => Promise.resolve('not reached')).catch((reason: unknown) => reason)).toBe(
    'enough',
  )
})
