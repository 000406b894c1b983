import { expect, test } from 'vitest'
import config, { openGate, runsOf } from '../mcp/mcp-agents.ts'
import { callTool, charge, expectClean, moneyOf, refund } from '../mcp/mcp-calls.ts'
import { soon, unlimited } from '../runner/task-checks.ts'
import { startNodes } from './start-nodes.ts'

test('a tool that is called at one node runs on another, and is stopped there when its client does not come back', async () => {
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

test('with an idempotency key a client comes back to another node: one charge', async () => {
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
  // Longer than a task waits whose client left without a key.
  await new Promise((resolve) => setTimeout(resolve, 1200))
  openGate('keyed')
  expect((await again).body.result.structuredContent).toEqual({ passed: 'keyed' })
  expect(runsOf('keyed')).toBe(1)
  expect(await moneyOf(first!, key)).toEqual([charge])
  await stop()
})
