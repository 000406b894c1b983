import { expect, test } from 'vitest'
import config, { openGate, runsOf } from '../../mcp/mcp-agents.ts'
import { callTool, charge, expectClean, moneyOf, refund } from '../../mcp/mcp-calls.ts'
import { soon, unlimited } from '../../runner/task-checks.ts'
import { newGate, startCall, statuses } from '../../mcp/begun-calls.ts'
import { engine } from '../../support/test-engine.ts'
import type { TestService } from '../../support/test-service.ts'
import { startNodes } from '../start-nodes.ts'

test('a tool called at one node runs on another, and stops if its client does not return', async () => {
  const front = { config, limits: { ...unlimited, taskConcurrency: 0, mcpReturnSeconds: 1 } }
  const { nodes, start, stop } = await startNodes(front)
  const [asked] = nodes
  const worker = await start({ config, limits: unlimited })
  const { key } = await asked!.createPerson({ balanceUsd: '1.0000' })
  const controller = new AbortController()
  const { signal } = controller
  const left = callTool(asked!, 'desk_wait', { gate: 'node' }, { key, signal }).catch(() => undefined)
  await expect.poll(() => runsOf('node'), soon).toBe(1)
  controller.abort()
  await left
  await expect.poll(() => moneyOf(worker, key), soon).toEqual([charge, refund])
  openGate('passed')
  const { body } = await callTool(asked!, 'desk_wait', { gate: 'passed' }, { key })
  expect(body.result.structuredContent).toEqual({ passed: 'passed' })
  await expectClean(worker)
  await stop()
})

test('a client with an idempotency key can return to another node, and is charged once', async () => {
  const own = { config, limits: { ...unlimited, mcpReturnSeconds: 1 } }
  const { nodes, stop } = await startNodes(own, own)
  const [first, second] = nodes
  const { key } = await first!.createPerson({ balanceUsd: '1.0000' })
  const controller = new AbortController()
  const sent = { key, headers: { 'Idempotency-Key': 'once' } }
  const left = callTool(first!, 'desk_wait', { gate: 'keyed' }, { ...sent, signal: controller.signal })
  await expect.poll(() => runsOf('keyed'), soon).toBe(1)
  const again = callTool(second!, 'desk_wait', { gate: 'keyed' }, sent)
  controller.abort()
  await expect(left).rejects.toThrow('abort')
  // Waits longer than the service keeps a task without an idempotency key after its client has left.
  await new Promise((resolve) => setTimeout(resolve, 1200))
  openGate('keyed')
  expect((await again).body.result.structuredContent).toEqual({ passed: 'keyed' })
  expect(runsOf('keyed')).toBe(1)
  expect(await moneyOf(first!, key)).toEqual([charge])
  await stop()
})

test('a client that repeats an abandoned call at another node gets its first task', async () => {
  const own = { config, limits: { ...unlimited, mcpReturnSeconds: 5 } }
  const { databaseOf, nodes, stop } = await startNodes(own, own)
  const [first, second] = nodes as [TestService, TestService]
  const { key } = await first.createPerson({ balanceUsd: '1.0000' })
  const gate = newGate()
  const call = await startCall(first, 'desk_wait', { gate, key })
  // Two waiting clients are two tasks.
  const other = await startCall(second, 'desk_wait', { gate, key })
  await call.leave()
  await expect.poll(() => leftRows(), soon).toBe(1)
  const again = callTool(second, 'desk_wait', { gate }, { key, id: 77 })
  // Waits longer than the first node keeps a task without a client.
  await new Promise((resolve) => setTimeout(resolve, 6000))
  expect(await statuses(first, key)).toEqual(['processing', 'processing'])
  openGate(gate)
  for (const answer of [again, other.answer]) {
    expect((await answer).body.result.structuredContent).toEqual({ passed: gate })
  }
  expect(await moneyOf(first, key)).toEqual([charge, charge])
  // The result was delivered, so repeating the request is a new call.
  await callTool(first, 'desk_wait', { gate }, { key })
  expect(await moneyOf(first, key)).toEqual([charge, charge, charge])
  await expectClean(first)
  await stop()

  async function leftRows(): Promise<number> {
    const raw = await engine().openRaw(databaseOf)
    const rows = await raw.query('SELECT 1 FROM wire_requests WHERE left_at IS NOT NULL')
    await raw.close()
    return rows.length
  }
})

test('a request that reaches two nodes simultaneously creates one task', async () => {
  const own = { config, limits: unlimited }
  const { nodes, stop } = await startNodes(own, own)
  const { key } = await nodes[0]!.createPerson({ balanceUsd: '1.0000' })
  const gate = newGate()
  const sent = { key, id: 5, headers: { 'Mcp-Session-Id': 'one client' } }
  const calls = nodes.map((node) => callTool(node, 'desk_wait', { gate }, sent))
  await expect.poll(() => runsOf(gate), soon).toBe(1)
  openGate(gate)
  for (const call of calls) expect((await call).body.result.structuredContent).toEqual({ passed: gate })
  expect(runsOf(gate)).toBe(1)
  expect(await moneyOf(nodes[0]!, key)).toEqual([charge])
  await stop()
})
