import fc from 'fast-check'
import { expect } from 'vitest'
import type { Operation } from '../pins/documented-answers.ts'
import { expectErrorBody, expectRpcError, RawConnection, rawRequest } from '../support/raw-http.ts'
import type { Answer } from '../support/test-service.ts'
import { engine } from '../support/test-engine.ts'
import { secretMark } from './document-values.ts'
import type { World } from './property-world.ts'

// Checks that apply to every response, regardless of the request.

/** Maximum time to wait for a response. After that the property fails and prints its seed. */
const answerMsMax = 15_000

class NoAnswer extends Error {}

async function within<T>(answer: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new NoAnswer(`no answer within ${answerMsMax} ms`)), answerMsMax)
  return await Promise.race([answer, promise]).finally(() => clearTimeout(timer))
}

export type Sent = {
  bytes: Buffer
  isHead?: boolean
  /** Whether to half-close the connection after the request, because the request announces more bytes than it sends. */
  isCut?: boolean
}

/**
 * Sends the request and then a valid one, if possible on the same connection. This shows that the service still works
 * and does not take leftover bytes of the first request for a new one.
 */
export async function sendThenRead(
  world: World,
  { bytes, isCut = false, isHead = false }: Sent,
): Promise<Answer | undefined> {
  using connection = await RawConnection.open(world.service.url)
  await connection.send(bytes)
  if (isCut) connection.finishSending()
  const answer = await within(connection.readAnswer({ isHead }))
  const goesOn = answer !== undefined && !isCut && answer.headers.get('connection') !== 'close'
  const good = rawRequest('GET /api/account', world.senders.key.lines)
  if (goesOn) {
    await connection.send(good)
    expect((await within(connection.readAnswer()))?.status, 'the next request of the connection').toBe(200)
  } else {
    using next = await RawConnection.open(world.service.url)
    await next.send(good)
    expect((await within(next.readAnswer()))?.status, 'the next request').toBe(200)
  }
  return answer
}

/** Asserts that the request changed no data and caused no logged error of the service. */
export async function sendForNothing(world: World, sent: Sent): Promise<Answer | undefined> {
  const before = await world.digest()
  const answer = await sendThenRead(world, sent)
  expect(world.takeFaults(), 'faults in the log').toEqual([])
  expect((await world.digest()) === before, 'nothing was written').toBe(true)
  if (answer) expectNoSecret(world, answer)
  return answer
}

function expectNoSecret(world: World, { body, headers }: Answer): void {
  const said = `${JSON.stringify(body)} ${JSON.stringify([...headers])}`
  expect(said).not.toContain(secretMark)
  const credentials = Object.values(world.senders).flatMap(({ lines }) =>
    lines.filter((line) => /^(?:Auth|Cook)/.test(line)),
  )
  for (const line of credentials) expect(said).not.toContain(line.split(/ (?:Bearer )?(?:\w+=)?/)[1])
}

export type Refused = { status: number; error?: string; field?: string }

/** Asserts a rejection that the document allows for the operation, and that it changed no data. */
export async function expectPromisedRefusal(
  world: World,
  { operation, sent }: { operation: Operation; sent: Sent },
  { error, field, status }: Refused,
): Promise<Answer> {
  const answer = await sendForNothing(world, sent)
  expect(answer, 'is answered').toBeDefined()
  expectErrorBody(answer, { status, ...(error !== undefined && { error }) })
  world.checker.note(status, `${operation.method} ${operation.path}`, { answer: answer! })
  if (field !== undefined) expectNamed(answer!.body.details, field)
  return answer!
}

export async function expectRpcRefusal(world: World, bytes: Buffer, { field, status }: Refused): Promise<Answer> {
  const answer = await sendForNothing(world, { bytes })
  expect(answer?.status, JSON.stringify(answer?.body).slice(0, 500)).toBe(status)
  expect(answer!.headers.get('content-type')).toMatch(/^application\/json/)
  expect(answer!.headers.get('x-request-id')).toMatch(/^req_[0-9a-z]{26}$/)
  expectRpcError(answer!.body, { status })
  if (field !== undefined) expectNamed(answer!.body.error.json.data.details, field)
  return answer!
}

/** Asserts that at least one detail names the field or a part of it. */
function expectNamed(details: readonly { path: string }[], field: string): void {
  const paths = details.map(({ path }) => path)
  const isNamed = paths.some((path) => path === field || path.startsWith(`${field}.`) || path.startsWith(`${field}[`))
  expect(isNamed, `${JSON.stringify(field)} is named in ${JSON.stringify(paths)}`).toBe(true)
}

/**
 * Seed and path of a single case to repeat: insert the printed `{ seed: 1663165201, path: '0:0' }` and run `vitest run
 * -t TITLE`.
 */
const repeated: Pick<fc.Parameters<unknown>, 'seed' | 'path'> = {}

/** Checks `numRuns` values. A failure prints its seed and the path to the value. */
export async function always<T>(
  numRuns: number,
  values: fc.Arbitrary<T>,
  check: (value: T) => Promise<unknown>,
): Promise<void> {
  let isGivenUp = false
  const property = fc.asyncProperty(values, async (value) => {
    // Shrinking a missing response would exceed the test's timeout, and then the seed would not be printed.
    if (isGivenUp) return
    try {
      await check(value)
    } catch (error) {
      isGivenUp = error instanceof NoAnswer
      throw error
    }
  })
  // Parsing is the same on every engine, but slower engines get fewer runs.
  const runs = engine().name === 'SQLite' ? numRuns : Math.ceil(numRuns / 5)
  await fc.assert(property, { numRuns: runs, ...repeated })
}
