import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { soon } from '../../runner/task-checks.ts'
import { newGate, requestsEnded, startCall, startWorld, statuses } from '../begun-calls.ts'
import { openGate, runsOf } from '../mcp-agents.ts'
import { callTool, charge, expectClean, moneyOf, sendCurrent } from '../mcp-calls.ts'

// Edge cases of clients that leave and come back; mcp-money has the normal ones.

test('a resumed call is not canceled when the return time of its first client expires', async () => {
  const { key, service } = await startWorld({ mcpReturnSeconds: 4 })
  const gate = newGate()
  const first = await startCall(service, 'desk_wait', { gate, key })
  await first.leave()
  const again = callTool(service, 'desk_wait', { gate }, { key, id: 77 })
  // Waits longer than a task is kept without a client.
  await pause(4500)
  expect(await statuses(service, key)).toEqual(['processing'])
  openGate(gate)
  expect((await again).body.result.structuredContent).toEqual({ passed: gate })
  expect(await moneyOf(service, key)).toEqual([charge])
  await expectClean(service)
  await service.stop()
})

test('an abandoned task is not given to a call of another tool with equal arguments', async () => {
  const { key, service } = await startWorld()
  const gate = newGate()
  const first = await startCall(service, 'desk_wait', { gate, key })
  await first.leave()
  const other = await startCall(service, 'desk_keep', { gate, key })
  expect(runsOf(gate)).toBe(2)
  openGate(gate)
  expect((await other.answer).body.result.structuredContent).toEqual({ passed: gate })
  expect(await moneyOf(service, key)).toEqual([charge, charge])
  await service.stop()
})

test('a task continues for a second waiting request if the first one disconnects', async () => {
  const { key, service } = await startWorld()
  const gate = newGate()
  const headers = { 'Mcp-Session-Id': 'one client' }
  const leaving = new AbortController()
  const call = (signal?: AbortSignal) =>
    sendCurrent(
      service,
      'tools/call',
      { name: 'desk_wait', arguments: { gate } },
      { key, headers, id: 5, ...(signal && { signal }) },
    )
  const first = call(leaving.signal).catch(() => undefined)
  await expect.poll(() => runsOf(gate), soon).toBe(1)
  const ended = await requestsEnded(service)
  const second = call()
  // Waits until the second call has reached the service and waits there.
  await pause(300)
  leaving.abort()
  await first
  await expect.poll(() => requestsEnded(service), soon).toBe(ended + 1)
  openGate(gate)
  expect((await second).body.result.structuredContent).toEqual({ passed: gate })
  expect([runsOf(gate), await moneyOf(service, key)]).toEqual([1, [charge]])
  await service.stop()
})
