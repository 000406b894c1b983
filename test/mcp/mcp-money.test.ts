import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { soon } from '../runner/task-checks.ts'
import { waitersMax } from '../../server/tasks/task-ends.ts'
import { newGate, startCall, startWorld, statuses } from './begun-calls.ts'
import { openGate, runsOf } from './mcp-agents.ts'
import { callTool, charge, expectClean, moneyOf, refund, send } from './mcp-calls.ts'

// Each call is charged once, no matter what happens to its client. Failed and abandoned calls are refunded.

test('an admission error is returned as tool result that says what to do, and nothing is charged', async () => {
  const { key, service } = await startWorld({ executionsPerMinute: 2 }, '0.0150')
  const call = async (sent: { key: string } = { key }) => (await callTool(service, 'a_a_b_c', {}, sent)).body.result
  expect(await call()).toMatchObject({ structuredContent: {} })
  expect(await call()).toEqual({
    isError: true,
    content: [
      {
        type: 'text',
        text: 'The balance of 0.0050 USD is lower than the required 0.0100 USD. Add credit. Nothing was charged. Add credit to the account before the next call.',
      },
    ],
    _meta: { code: 'INSUFFICIENT_BALANCE' },
  })
  const rich = await service.createPerson()
  await call(rich)
  await call(rich)
  const refused = await call(rich)
  expect(refused).toMatchObject({
    isError: true,
    _meta: { code: 'RATE_LIMIT_EXCEEDED', retryAfterSeconds: expect.any(Number) },
  })
  expect(refused.content[0].text).toMatch(/^At most 2 .* Nothing was charged\. Call again in \d+ seconds\.$/)
  expect(await moneyOf(service, key)).toEqual([charge])
  await expectClean(service)
  await service.stop()
})

test("a key's spending limit and allowed agents apply to tools as they do to tasks", async () => {
  const { key, service } = await startWorld()
  const limits = {
    name: 'limited',
    scopes: ['execute'],
    limitUsd: '0.0100',
    limitReset: 'day',
    agents: ['desk'],
  }
  const made = await service.post('/api/keys', limits, { key })
  expect(made).toMatchObject({ status: 200 })
  const own = { key: made.body.key as string }
  const { tools } = (await send(service, 'tools/list', {}, own)).body.result
  expect(tools.map(({ name }: { name: string }) => name).every((name: string) => name.startsWith('desk_'))).toBe(true)
  expect((await callTool(service, 'a_a_b_c', {}, own)).body.error.code).toBe(-32_602)
  expect((await callTool(service, 'desk_large', { chars: 1 }, own)).body.result).toMatchObject({
    structuredContent: { text: 'x' },
  })
  expect((await callTool(service, 'desk_large', { chars: 1 }, own)).body.result).toMatchObject({
    isError: true,
    _meta: { code: 'LIMIT_REACHED' },
    content: [{ text: expect.stringContaining('Nothing was charged.') }],
  })
  expect(await moneyOf(service, key)).toEqual([charge])
  await service.stop()
})

test('a client that gives up and repeats its call gets the result of the first task, charged once', async () => {
  const { key, service } = await startWorld()
  const gate = newGate()
  const first = await startCall(service, 'desk_wait', { gate, key })
  await first.leave()
  const again = callTool(service, 'desk_wait', { gate }, { key, id: 77 })
  openGate(gate)
  expect((await again).body).toMatchObject({ id: 77, result: { structuredContent: { passed: gate } } })
  expect(runsOf(gate)).toBe(1)
  const next = newGate()
  const second = await startCall(service, 'desk_wait', { gate: next, key })
  await second.leave()
  openGate(next)
  await expect.poll(() => statuses(service, key), soon).toEqual(['completed', 'completed'])
  expect((await callTool(service, 'desk_wait', { gate: next }, { key })).body.result.structuredContent).toEqual({
    passed: next,
  })
  expect(runsOf(next)).toBe(1)
  expect(await moneyOf(service, key)).toEqual([charge, charge])
  // The result was delivered, so repeating the request is a new call.
  await callTool(service, 'desk_wait', { gate: next }, { key })
  expect(await moneyOf(service, key)).toEqual([charge, charge, charge])
  await expectClean(service)
  await service.stop()
})

test('identical calls of two waiting clients or of two keys are separate tasks', async () => {
  const { key, service, userId } = await startWorld()
  const gate = newGate()
  const [one, two] = [
    await startCall(service, 'desk_wait', { gate, key }),
    await startCall(service, 'desk_wait', { gate, key }),
  ]
  await one.leave()
  const other = await startCall(service, 'desk_wait', { gate, key: await service.createKey(userId) })
  openGate(gate)
  for (const { answer } of [two, other]) expect((await answer).body.result.structuredContent).toEqual({ passed: gate })
  expect(await moneyOf(service, key)).toEqual([charge, charge, charge])
  await service.stop()
})

test('a request repeated by a client that still waits for the first is the same call', async () => {
  const { key, service } = await startWorld()
  const gate = newGate()
  const headers = { 'Mcp-Session-Id': 'one client' }
  const call = () => callTool(service, 'desk_wait', { gate }, { key, headers, id: 5 })
  const first = call()
  await expect.poll(() => runsOf(gate), soon).toBe(1)
  const second = call()
  // Another client's call is a separate task.
  const other = await startCall(service, 'desk_wait', { gate, key })
  openGate(gate)
  expect((await second).body.result).toEqual((await first).body.result)
  await other.answer
  expect(await moneyOf(service, key)).toEqual([charge, charge])
  await service.stop()
})

test('a task whose client does not return is canceled and refunded', async () => {
  const { key, service } = await startWorld({ mcpReturnSeconds: 1 })
  const gate = newGate()
  const { leave } = await startCall(service, 'desk_wait', { gate, key })
  await leave()
  await expect.poll(() => moneyOf(service, key), soon).toEqual([charge, refund])
  expect(await statuses(service, key)).toEqual(['failed'])
  // Later calls get tasks of their own.
  openGate(gate)
  expect((await callTool(service, 'desk_wait', { gate }, { key })).body.result.structuredContent).toEqual({
    passed: gate,
  })
  expect(await moneyOf(service, key)).toEqual([charge, refund, charge])
  await expectClean(service)
  await service.stop()
})

test('a disconnect cancels the call immediately in the current revision', async () => {
  const { key, service } = await startWorld()
  const { leave } = await startCall(service, 'desk_wait', { gate: newGate(), key, isCurrent: true })
  await leave()
  await expect.poll(() => moneyOf(service, key), soon).toEqual([charge, refund])
  await expectClean(service)
  await service.stop()
})

test('a canceled call that cannot be stopped continues; repeating it gets its result, charged once', async () => {
  const { key, service } = await startWorld({ mcpReturnSeconds: 1 })
  const gate = newGate()
  const { answer, id } = await startCall(service, 'desk_keep', { gate, key })
  await send(service, 'notifications/cancelled', { requestId: id }, { key, id: null })
  // The canceled call's stream ends without a response.
  expect((await answer).messages).toEqual([])
  // Waits longer than `mcpReturnSeconds`, after which a cancelable task would be canceled.
  await pause(1200)
  expect(await statuses(service, key)).toEqual(['processing'])
  const again = callTool(service, 'desk_keep', { gate }, { key })
  openGate(gate)
  expect((await again).body.result.structuredContent).toEqual({ passed: gate })
  expect(await moneyOf(service, key)).toEqual([charge])
  await service.stop()
})

test('a notification cancels the call with its id, even a call that waits for plain JSON', async () => {
  const { key, service } = await startWorld()
  const gate = newGate()
  const waiting = callTool(service, 'desk_wait', { gate }, { key, id: 'mine', headers: { Accept: 'application/json' } })
  await expect.poll(() => runsOf(gate), soon).toBe(1)
  const stranger = await service.createPerson()
  await send(service, 'notifications/cancelled', { requestId: 'mine' }, { key: stranger.key, id: null })
  await send(service, 'notifications/cancelled', { requestId: 'other' }, { key, id: null })
  expect(await statuses(service, key)).toEqual(['processing'])
  await send(service, 'notifications/cancelled', { requestId: 'mine' }, { key, id: null })
  expect((await waiting).body.result).toMatchObject({
    isError: true,
    content: [{ text: 'The client canceled the call.' }],
  })
  await expect.poll(() => moneyOf(service, key), soon).toEqual([charge, refund])
  await service.stop()
})

test('a notification cancels neither of two calls with the same id from unidentified clients', async () => {
  const { key, service } = await startWorld()
  const [one, two] = [newGate(), newGate()]
  const call = (gate: string) => callTool(service, 'desk_wait', { gate }, { key, id: 9 })
  const calls = [call(one), call(two)]
  await expect.poll(() => runsOf(one) + runsOf(two), soon).toBe(2)
  await send(service, 'notifications/cancelled', { requestId: 9 }, { key, id: null })
  openGate(one)
  openGate(two)
  for (const { body } of await Promise.all(calls)) expect(body.result.isError).toBe(undefined)
  expect(await moneyOf(service, key)).toEqual([charge, charge])
  await service.stop()
})

test('repeated calls with an idempotency key in the header or _meta are one task', async () => {
  const { key, service } = await startWorld()
  const headers = { 'Idempotency-Key': 'once' }
  const call = { name: 'a_a_b_c', arguments: { a: 1 } }
  const first = await send(service, 'tools/call', call, { key, headers })
  const second = await send(service, 'tools/call', { ...call, _meta: { idempotencyKey: 'once' } }, { key })
  expect(second.body.result).toEqual(first.body.result)
  const other = await send(service, 'tools/call', { ...call, arguments: { a: 2 } }, { key, headers })
  expect(other.body.result).toMatchObject({ isError: true, _meta: { code: 'CONFLICT' } })
  const wrong = await send(service, 'tools/call', { ...call, _meta: { idempotencyKey: 'ä' } }, { key })
  expect(wrong.body.error).toMatchObject({ code: -32_602, message: expect.stringContaining('_meta.idempotencyKey') })
  expect(await moneyOf(service, key)).toEqual([charge])
  await service.stop()
})

test('a call with an idempotency key continues if its client leaves, in each revision', async () => {
  const { key, service } = await startWorld({ mcpReturnSeconds: 1 })
  const gates = [newGate(), newGate()]
  const calls = await Promise.all(
    gates.map((gate, at) => startCall(service, 'desk_wait', { gate, key, isCurrent: at === 1, keyed: gate })),
  )
  for (const { leave } of calls) await leave()
  await pause(1200)
  expect(await statuses(service, key)).toEqual(['processing', 'processing'])
  for (const gate of gates) {
    openGate(gate)
    const headers = { 'Idempotency-Key': btoa(gate) }
    expect((await callTool(service, 'desk_wait', { gate }, { key, headers })).body.result.structuredContent).toEqual({
      passed: gate,
    })
  }
  expect(await moneyOf(service, key)).toEqual([charge, charge])
  await service.stop()
})

test('a result up to 256 KB is sent in full; a larger one is truncated and has a link', async () => {
  const { key, service } = await startWorld()
  const call = async (chars: number) => (await callTool(service, 'desk_large', { chars }, { key })).body.result
  expect((await call(100_000)).structuredContent.text).toHaveLength(100_000)
  const { _meta, content, structuredContent } = await call(300_000)
  expect(structuredContent).toBe(undefined)
  expect(content[0].text).toContain(_meta.responseUri)
  const whole = await fetch(_meta.responseUri as string)
  expect(((await whole.json()) as { text: string }).text).toHaveLength(300_000)
  await service.stop()
})

test('a call beyond the wait limit is rejected, and a call that loses the last slot is refunded', async () => {
  const { key, service, userId } = await startWorld()
  const { ends } = service.app.services.tasks
  const wait = () => ends.wait({ taskId: 'task_none', userId }, { signal: undefined })
  const waits = Array.from({ length: waitersMax - 1 }, wait)
  const gate = newGate()
  const calls = [1, 2].map((id) => callTool(service, 'desk_wait', { gate: `${gate} ${id}` }, { key, id }))
  const refused = { isError: true, _meta: { code: 'RATE_LIMIT_EXCEEDED' } }
  expect((await Promise.race(calls)).body.result).toMatchObject(refused)
  await expect.poll(() => moneyOf(service, key), soon).toEqual([charge, charge, refund])
  expect((await callTool(service, 'desk_fail', {}, { key })).body.result).toMatchObject(refused)
  for (const id of [1, 2]) openGate(`${gate} ${id}`)
  const results = (await Promise.all(calls)).map(({ body }) => body.result.isError)
  expect(results.toSorted()).toEqual([true, undefined])
  for (const one of waits) one.cancel()
  expect(await moneyOf(service, key)).toEqual([charge, charge, refund])
  await expectClean(service)
  await service.stop()
})

test('a shutdown answers a waiting call with an error', async () => {
  const { key, service } = await startWorld({ drainSeconds: 0 })
  const gate = newGate()
  const { answer } = await startCall(service, 'desk_wait', { gate, key })
  await service.stop()
  const { result } = (await answer).body
  expect(result.isError).toBe(true)
})
