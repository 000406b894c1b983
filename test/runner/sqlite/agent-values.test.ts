import { writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { startService } from '../../support/test-service.ts'
import { returnedNames, thrownNames } from '../odd-values.ts'
import rogueAgents from '../rogue-agents.ts'
import {
  chargedOnce,
  expectSound,
  moneyOf,
  refundedOnce,
  rogueFile,
  signalFiles,
  unlimited,
  untilBegun,
} from '../task-checks.ts'

const inThreads = {
  config: rogueAgents,
  configFile: rogueFile,
  limits: { ...unlimited, agentThreads: 1, maxResultBytes: 1_000_000 },
}
/** Matches stack frames, and paths and URLs of the service's files. */
const internals = /\n\s+at |file:\/\/|node:internal|node_modules|odd-values|\.ts\b/

test('any value an agent throws fails only that run, with a complete error and one refund', async () => {
  const service = await startService(inThreads)
  const { key } = await service.createPerson()
  const files = signalFiles(service.dataDir)
  const { body: beside } = await service.createTask(key, 'rogue.hold', files)
  await untilBegun(files)
  const messages: Record<string, string> = {}
  for (const what of thrownNames) {
    const task = await service.runTask(key, 'rogue.throw', { what })
    expect(task, what).toMatchObject({ status: 'failed', response: null })
    expect(task.error, what).toEqual({
      code: 'AGENT_ERROR',
      message: expect.any(String),
      details: expect.any(String),
    })
    const { message, details } = task.error
    expect(message, what).not.toBe('')
    expect(message.length + details.length, what).toBeLessThan(5000)
    expect(`${message}${details}`, what).not.toMatch(internals)
    expect(`${message}${details}`.isWellFormed(), what).toBe(true)
    expect(await moneyOf(service, key, task.id), what).toEqual(refundedOnce)
    messages[what] = message
  }
  expect(messages).toMatchObject({
    error: 'an ordinary error',
    null: 'The agent threw null',
    undefined: 'The agent threw undefined',
    string: 'The agent threw a string',
    number: 'The agent threw 42',
    symbol: 'The agent threw Symbol(a symbol)',
    circularCause: 'caused by itself',
    nulAndHalfCharacter: 'a\u0000b\ufffd',
  })
  writeFileSync(files.release, '')
  expect((await service.get(`/api/tasks/${beside.taskId}?wait=20`, key)).body.status).toBe('completed')
  await expectSound(service, key)
  await service.stop()
})

test('any agent return value becomes an object or string, or fails with one refund', async () => {
  const service = await startService(inThreads)
  const { key } = await service.createPerson()
  const files = signalFiles(service.dataDir)
  const { body: beside } = await service.createTask(key, 'rogue.hold', files)
  await untilBegun(files)
  const ends: Record<string, unknown> = {}
  for (const what of returnedNames) {
    const task = await service.runTask(key, 'rogue.return', { what })
    expect(task.id, `${what} can be read`).toBeDefined()
    ends[what] = task.error?.code ?? task.response
    expect(await moneyOf(service, key, task.id), what).toEqual(task.error ? refundedOnce : chargedOnce)
    if (!task.error) continue
    expect(task.error, what).toEqual({
      code: expect.any(String),
      message: expect.any(String),
      details: expect.any(String),
    })
    expect(`${task.error.message}${task.error.details}`, what).not.toMatch(internals)
  }
  expect(ends).toEqual({
    undefined: { result: null },
    null: { result: null },
    number: { result: 7 },
    notANumber: { result: null },
    boolean: { result: false },
    bigint: 'AGENT_OUTPUT_INVALID',
    array: { result: [1, 'two'] },
    string: 'a text',
    emptyString: '',
    date: '2026-01-15T00:00:00.000Z',
    map: {},
    nested: { inner: { list: [1, null] } },
    halfCharacter: { text: 'a\ud800b' },
    promise: { settled: true },
    function: 'AGENT_OUTPUT_INVALID',
    symbol: 'AGENT_OUTPUT_INVALID',
    circular: 'AGENT_OUTPUT_INVALID',
    deep: 'AGENT_OUTPUT_INVALID',
    fairlyDeep: 'AGENT_OUTPUT_INVALID',
    throwingToJson: 'AGENT_OUTPUT_INVALID',
    toJsonOfNothing: 'AGENT_OUTPUT_INVALID',
    toJsonOfNumber: { result: 5 },
    proxy: 'AGENT_OUTPUT_INVALID',
    throwingThen: 'AGENT_ERROR',
    large: 'AGENT_OUTPUT_TOO_LARGE',
  })
  writeFileSync(files.release, '')
  expect((await service.get(`/api/tasks/${beside.taskId}?wait=20`, key)).body.status).toBe('completed')
  await expectSound(service, key)
  await service.stop()
})
