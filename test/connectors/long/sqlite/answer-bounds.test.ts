import type { ServerResponse } from 'node:http'
import fc from 'fast-check'
import { afterEach, expect, test } from 'vitest'
import { AnswerMeter, valuesMax } from '../../../../server/connectors/thread/answer-meter.ts'
import { heavinessOf, jsonNameBytesMax } from '../../../../server/kernel/json-values.ts'
import { AnswerPlace } from '../../../../server/connectors/thread/answer-place.ts'
import { FairPlaces } from '../../../../server/kernel/fair-places.ts'
import { megabyte, openGuardFor, post, startServer, stopAll } from '../../guarded-server.ts'
import { soon } from '../../../runner/task-checks.ts'
import { until } from '../../../support/until.ts'
import { completeTask, connect, createTask, endOf, expectSound, startWorld } from '../../run-checks.ts'
import { beginEvents, startMcpServer } from '../../run-http-server.ts'

// Bounds on the memory of incomplete connector responses, and on the work to parse them.

afterEach(stopAll)

const tooMuch = (megabytes: number) =>
  `Your connectors can have at most ${megabytes} MB of incomplete responses, or less while the service is busy. Call fewer tools in parallel.`

test('drops the slowest response of the user with the most memory when another user needs some', () => {
  let now = 0
  const places = new FairPlaces({ perUser: 6 * megabyte, total: 8 * megabyte, now: () => now })
  const given: string[] = []
  const open = (userId: string, what: string) =>
    new AnswerPlace({ userId, places }, ({ message }) => given.push(`${what}: ${message}`))
  const slow = open('greedy', 'slow')
  now = 1000
  const fast = open('greedy', 'fast')
  slow.hold(3 * megabyte)
  fast.hold(3 * megabyte)
  expect(() => fast.hold(3 * megabyte + 1)).toThrow(tooMuch(6))
  open('honest', 'honest').hold(2 * megabyte)
  open('another', 'another').hold(megabyte)
  const full = 'The service does not have memory for more incomplete responses. Call fewer tools in parallel.'
  expect(given).toEqual([`slow: ${full}`])
  expect(places.taken).toBe(6 * megabyte)
  expect(() => open('large', 'large').hold(3 * megabyte)).toThrow(full)
})

test("incomplete responses count against their user's limit until they are released", async () => {
  const server = await startServer((response) => {
    response.writeHead(200, { 'Content-Type': 'application/json' })
    response.write(`"${'x'.repeat(900_000)}`)
  })
  const places = new FairPlaces({ perUser: 2 * megabyte, total: 100 * megabyte })
  const guard = openGuardFor([server], { answers: { userId: 'one', places } })
  const answers = [1, 2, 3].map(async () => await (await guard.fetch(server.origin, post())).text())
  await expect(Promise.race(answers)).rejects.toThrow(tooMuch(2))
  await expect.poll(() => places.taken).toBe(2 * 900_001)
  expect(server.connections.filter(({ destroyed }) => !destroyed).length).toBeLessThanOrEqual(3)
  guard.close()
  expect((await Promise.allSettled(answers)).map(({ status }) => status)).toEqual(Array(3).fill('rejected'))
  expect(places.taken).toBe(0)
})

const lines = fc.array(fc.constantFrom('data: {"a":[1,"x,[{\\"\\n"]}', ':"', '', 'event: message', 'data: ☃'))
const ends = fc.constantFrom('\n', '\r', '\r\n')

test('passes events through unchanged except for normalized line ends, regardless of how they are split', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(lines, ends)), fc.array(fc.integer({ min: 1, max: 9 })), (parts, cuts) => {
      const text = parts.flatMap(([of, end]) => of.map((line) => line + end)).join('')
      const meter = new AnswerMeter({ isEvents: true })
      const pieces: Buffer[] = []
      let left = Buffer.from(text)
      for (let n = 0; left.length > 0; n++) {
        const cut = cuts.length > 0 ? cuts[n % cuts.length]! : left.length
        pieces.push(Buffer.from(meter.take(left.subarray(0, cut))))
        left = left.subarray(cut)
      }
      const given = Buffer.concat(pieces).toString()
      // CRLF counts as one line end.
      expect(given).toBe(text.replaceAll(/\r\n|\r/g, '\n'))
      let held = 0
      for (const line of given.split(/(?<=\n)/)) held = line === '\n' ? 0 : held + Buffer.byteLength(line)
      expect(meter.heldBytes).toBe(held)
    }),
    { numRuns: 500 },
  )
})

test('counts the values of a response or event before parsing, ignoring those inside strings', () => {
  const many = `[${'[],'.repeat(130_000)}[]]`
  expect(() => new AnswerMeter({ isEvents: false }).take(Buffer.from(many))).toThrow('more than 50000 values')
  expect(heavinessOf(Buffer.from(many), valuesMax)).toBeDefined()
  const text = JSON.stringify({ text: '",[{\\'.repeat(200_000) })
  expect(() => new AnswerMeter({ isEvents: false }).take(Buffer.from(text))).not.toThrow()
  expect(heavinessOf(Buffer.from(text), valuesMax)).toBeUndefined()
  const event = `data: [${'1,'.repeat(30_000)}1]\n\n`
  const meter = new AnswerMeter({ isEvents: true })
  for (let n = 0; n < 5; n++) expect(meter.take(Buffer.from(event)).length).toBe(event.length)
  // A quote in a comment does not hide the next line.
  const hidden = Buffer.from(`:"\ndata: ${many}\n\n`)
  expect(() => new AnswerMeter({ isEvents: true }).take(hidden)).toThrow('more than 50000 values')
})

test('rejects property names too long for V8 to hash in full, but accepts long strings', () => {
  const long = 'x'.repeat(jsonNameBytesMax)
  const take = (text: string, isEvents = false) => new AnswerMeter({ isEvents }).take(Buffer.from(text))
  const bad = `{"${long}x":1}`
  expect(() => take(bad)).toThrow(`a property name of more than ${jsonNameBytesMax} bytes`)
  expect(() => take(`data: ${bad}\n\n`, true)).toThrow('a property name of more than')
  expect(heavinessOf(Buffer.from(bad), valuesMax)).toBeDefined()
  const good = `{"${long}":"${long}${long}","a":"${long}${long}"}`
  expect(() => take(good)).not.toThrow()
  expect(() => take(`data: ${good}\ndata: {}\n\nid: 1\n\n`, true)).not.toThrow()
  expect(heavinessOf(Buffer.from(good), valuesMax)).toBeUndefined()
})

test('limits the number of lines of an event stream, regardless of their content', () => {
  for (const line of ['a\n', '\n', '\r', ':\r\n', 'data: {}\n\n']) {
    const meter = new AnswerMeter({ isEvents: true })
    const lines = line.match(/\r\n|\r|\n/g)!.length
    meter.take(Buffer.from(line.repeat(50_000 / lines)))
    expect(() => meter.take(Buffer.from(line))).toThrow('more than 50000 lines')
  }
  const text = Buffer.from('{\n'.repeat(40_000) + '\n'.repeat(100_000))
  expect(() => new AnswerMeter({ isEvents: false }).take(text)).not.toThrow()
})

test('sends few replies to a server that floods requests, and still reads its response', async () => {
  const replies: ServerResponse[] = []
  const server = await startMcpServer({
    // A message without a method is a response, which this server leaves waiting.
    undefined: (response) => replies.push(response),
    'tools/call': async (response, { id }) => {
      const event = (message: object) => `data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`
      const questions = Array.from({ length: 2000 }, (_, n) => event({ id: n, method: 'ping' })).join('')
      beginEvents(response).write(questions)
      await until('the first answers', 20_000, () => replies.length >= 8)
      response.end(event({ id, result: { content: [{ type: 'text', text: 'answered' }] } }))
    },
  })
  const world = await startWorld({ privateHosts: [server.host] })
  const person = await world.service.createPerson()
  const connectorIds = [await connect(world, person, { name: 'Asks', url: server.origin })]
  const task = { endpointId: 'code.call', params: { calls: [{ name: 'use' }] }, connectorIds }
  const done = await completeTask(world, person, task)
  expect(done.answers[0].text).toBe('answered')
  expect(replies).toHaveLength(8)
  for (const reply of replies) reply.destroy()
  await expectSound(world)
  await world.stop()
})

test.for([false, true])(
  "limits a user's incomplete responses with a clear error, in threads: %s",
  async (inThreads) => {
    const held: (() => void)[] = []
    let refused = 0
    const server = await startMcpServer({
      'tools/call': (response, { id, params }) => {
        if (params.arguments.small) {
          const result = { content: [{ type: 'text', text: 'small' }] }
          return void beginEvents(response).end(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`)
        }
        beginEvents(response).write(`data: {"jsonrpc":"2.0","id":${id},"result":{"content":"${'x'.repeat(9_000_000)}`)
        held.push(() => response.destroy())
        response.once('close', () => refused++)
      },
    })
    const world = await startWorld({ privateHosts: [server.host], inThreads })
    const [greedy, honest] = [await world.service.createPerson(), await world.service.createPerson()]
    const ids = await Promise.all(
      [greedy, honest].map(async (person) => [await connect(world, person, { name: 'Stops', url: server.origin })]),
    )
    const calls = [{ name: 'use' }, { name: 'use' }]
    const task = { endpointId: 'code.call', params: { calls, atOnce: true }, connectorIds: ids[0]! }
    const taskId = await createTask(world, greedy, task)
    const small = [{ name: 'use', args: { small: true } }]
    const done = await completeTask(world, honest, {
      endpointId: 'code.call',
      params: { calls: small },
      connectorIds: ids[1]!,
    })
    expect(done.answers[0].text).toBe('small')
    const message = /^Connector "Stops": Your connectors can have at most 16 MB of incomplete responses, /
    await expect.poll(() => refused, soon).toBe(1)
    for (const release of held) release()
    const { response } = await endOf(world, greedy, taskId)
    expect(response.answers.map(({ text }: { text: string }) => text)).toContainEqual(expect.stringMatching(message))
    await expectSound(world)
    await world.stop()
  },
)
