import { expect, test } from 'vitest'
import { soon, unlimited } from '../../runner/task-checks.ts'
import { startService, type TestService } from '../../support/test-service.ts'
import config, { openGate, runsOf } from '../mcp-agents.ts'
import { callTool, charge, expectClean, moneyOf, refund, send, sendCurrent } from '../mcp-calls.ts'

// MCP tasks, of revision 2025-11-25 and of the current one's extension, are tasks of the service.

async function startWorld() {
  const service = await startService({ config, limits: { ...unlimited } })
  const person = await service.createPerson({ balanceUsd: '1.0000' })
  return { ...person, service }
}

let gates = 0
const newGate = () => `task gate ${process.pid} ${++gates}`
const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT/)
const knowsTasks = { extensions: { 'io.modelcontextprotocol/tasks': {} } }

/** Creates a task with revision 2025-11-25. */
async function begin(service: TestService, key: string, tool: string, args: object) {
  const { body } = await send(service, 'tools/call', { name: tool, arguments: args, task: { ttl: 60_000 } }, { key })
  return body.result.task
}

/** Creates a task with the current revision. */
async function beginCurrent(service: TestService, key: string, tool: string, args: object) {
  const call = { name: tool, arguments: args }
  return (await sendCurrent(service, 'tools/call', call, { key, capabilities: knowsTasks })).body.result
}

test('a call with a task returns immediately, and any client can wait for its result', async () => {
  const { key, service } = await startWorld()
  const gate = newGate()
  const task = await begin(service, key, 'desk_wait', { gate })
  const { taskId } = task
  const shown = { taskId, status: 'working', createdAt: time, lastUpdatedAt: time, ttl: null, pollInterval: 2000 }
  expect(task).toEqual(shown)
  expect((await send(service, 'tasks/get', { taskId }, { key })).body.result).toMatchObject({
    ...shown,
    lastUpdatedAt: time,
  })
  await expect.poll(() => runsOf(gate), soon).toBe(1)
  // A waiting client that leaves does not cancel anything.
  const controller = new AbortController()
  const left = send(service, 'tasks/result', { taskId }, { key, signal: controller.signal })
  controller.abort()
  await expect(left).rejects.toThrow('abort')
  const result = send(service, 'tasks/result', { taskId }, { key })
  openGate(gate)
  expect((await result).body.result).toEqual({
    content: [{ type: 'text', text: JSON.stringify({ passed: gate }) }],
    structuredContent: { passed: gate },
    _meta: { taskId, costUsd: '0.0100', 'io.modelcontextprotocol/related-task': { taskId } },
  })
  expect((await send(service, 'tasks/get', { taskId }, { key })).body.result.status).toBe('completed')
  expect(await moneyOf(service, key)).toEqual([charge])
  await service.stop()
})

test('a task can be canceled once, and not after it has ended', async () => {
  const { key, service } = await startWorld()
  const gate = newGate()
  const { taskId } = await begin(service, key, 'desk_wait', { gate })
  await expect.poll(() => runsOf(gate), soon).toBe(1)
  const cancel = async () => (await send(service, 'tasks/cancel', { taskId }, { key })).body
  expect((await cancel()).result).toMatchObject({ taskId, status: 'cancelled' })
  expect((await cancel()).error).toMatchObject({
    code: -32_602,
    message: expect.stringContaining('cannot be canceled'),
  })
  expect(await moneyOf(service, key)).toEqual([charge, refund])
  await expectClean(service)
  await service.stop()
})

test('canceling an unstoppable task is rejected, or only acknowledged in the current revision', async () => {
  const { key, service } = await startWorld()
  const gate = newGate()
  const { taskId } = await begin(service, key, 'desk_keep', { gate })
  await expect.poll(() => runsOf(gate), soon).toBe(1)
  expect((await send(service, 'tasks/cancel', { taskId }, { key })).body.error.code).toBe(-32_602)
  expect((await sendCurrent(service, 'tasks/cancel', { taskId }, { key })).body.result).toMatchObject({
    resultType: 'complete',
  })
  openGate(gate)
  await expect
    .poll(async () => (await send(service, 'tasks/get', { taskId }, { key })).body.result.status, soon)
    .toBe('completed')
  await service.stop()
})

test('a client of the current revision that supports tasks gets a task and its result', async () => {
  const { key, service } = await startWorld()
  const gate = newGate()
  const task = await beginCurrent(service, key, 'desk_wait', { gate })
  const { taskId } = task
  expect(task).toMatchObject({ resultType: 'task', taskId, status: 'working', ttlMs: null, pollIntervalMs: 2000 })
  const get = async () => (await sendCurrent(service, 'tasks/get', { taskId }, { key })).body.result
  const working = await get()
  expect(working).toMatchObject({ resultType: 'complete', status: 'working' })
  expect(working).not.toHaveProperty('result')
  expect((await sendCurrent(service, 'tasks/update', { taskId, inputResponses: {} }, { key })).body).toHaveProperty(
    'result',
  )
  openGate(gate)
  await expect.poll(async () => (await get()).status, soon).toBe('completed')
  expect((await get()).result).toMatchObject({
    structuredContent: { passed: gate },
    _meta: { taskId, costUsd: '0.0100' },
  })
  // In the current revision a failed tool is a completed task with a failure as its result; in the earlier one it is a
  // failed task.
  const { taskId: failed } = await beginCurrent(service, key, 'desk_fail', {})
  const getFailed = async () => (await sendCurrent(service, 'tasks/get', { taskId: failed }, { key })).body.result
  await expect.poll(async () => (await getFailed()).status, soon).toBe('completed')
  expect((await getFailed()).result).toMatchObject({ isError: true, _meta: { refundedUsd: '0.0100' } })
  expect((await send(service, 'tasks/get', { taskId: failed }, { key })).body.result).toMatchObject({
    status: 'failed',
    statusMessage: expect.stringContaining('refunded'),
  })
  await service.stop()
})

test("another user's task is reported as unknown, and reading a task needs the scope", async () => {
  const { key, service, userId } = await startWorld()
  const { taskId } = await begin(service, key, 'desk_fail', {})
  const stranger = await service.createPerson()
  for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel']) {
    for (const id of [taskId, 'task_01m8324g3796xx8n4nen2zhvqk']) {
      const { body } = await send(service, method, { taskId: id }, { key: stranger.key })
      expect(body.error, method).toMatchObject({ code: -32_602, message: 'Task not found. Check the id.' })
    }
    for (const id of [undefined, 7, '', 'x'.repeat(10_000)]) {
      expect((await send(service, method, { taskId: id }, { key })).body.error.code, method).toBe(-32_602)
    }
  }
  const caller = await service.createKey(userId, ['execute'])
  expect((await send(service, 'tasks/get', { taskId }, { key: caller })).body.error).toMatchObject({ code: 403 })
  // A key that may not read tasks gets no task and is not charged.
  const call = { name: 'desk_fail', arguments: {}, task: {} }
  expect((await send(service, 'tools/call', call, { key: caller })).body.result).toMatchObject({
    isError: true,
    content: [{ text: expect.stringMatching(/with the scope "read"\. Nothing was charged/) }],
  })
  expect((await service.get('/api/tasks', key)).body.tasks).toHaveLength(1)
  expect(await beginCurrent(service, caller, 'desk_fail', {})).toMatchObject({
    resultType: 'complete',
    isError: true,
    _meta: { refundedUsd: '0.0100' },
  })
  await service.stop()
})

test('a request that a client sends several times simultaneously creates one task', async () => {
  const { key, service } = await startWorld()
  const sent = { key, headers: { 'Mcp-Session-Id': 'one client' }, id: 5 }
  const gate = newGate()
  const calls = Array.from({ length: 5 }, () => callTool(service, 'desk_wait', { gate }, sent))
  await expect.poll(() => runsOf(gate), soon).toBeGreaterThan(0)
  // All calls are waiting once these later requests have been answered. After the end of the task, a repeated call
  // would be a new one.
  for (let n = 0; n < 5; n++) await send(service, 'tools/list', {}, { key })
  openGate(gate)
  const ids = (await Promise.all(calls)).map(({ body }) => body.result['_meta'].taskId)
  expect(new Set(ids).size).toBe(1)
  expect(await moneyOf(service, key)).toEqual([charge])
  await service.stop()
})

test('a rejected call that asks for a task gets a tool result, like a plain call', async () => {
  const { service } = await startWorld()
  const { key } = await service.createPerson({ balanceUsd: '0.0000' })
  const call = { name: 'desk_fail', arguments: {}, task: {} }
  expect((await send(service, 'tools/call', call, { key })).body.result).toMatchObject({
    isError: true,
    _meta: { code: 'INSUFFICIENT_BALANCE' },
  })
  await service.stop()
})
