import { expect } from 'vitest'
import { soon, unlimited } from '../runner/task-checks.ts'
import { startService, type TestService } from '../support/test-service.ts'
import config, { runsOf } from './mcp-agents.ts'
import { send, sendCurrent } from './mcp-calls.ts'

export async function startWorld(limits: object = {}, balanceUsd = '1.0000') {
  const service = await startService({ config, limits: { ...unlimited, ...limits } })
  const person = await service.createPerson({ balanceUsd })
  return { ...person, service }
}

let gates = 0
export const newGate = () => `gate ${process.pid} ${++gates}`

/** Starts a call and waits until its task runs. `leave` disconnects the client. */
export async function startCall(service: TestService, tool: string, { gate, key, isCurrent = false, keyed }: Begun) {
  const controller = new AbortController()
  const headers = keyed === undefined ? {} : { 'Idempotency-Key': btoa(keyed) }
  const sent = { key, headers, signal: controller.signal, id: gates }
  const call = { name: tool, arguments: { gate } }
  const before = runsOf(gate)
  const answer = isCurrent ? sendCurrent(service, 'tools/call', call, sent) : send(service, 'tools/call', call, sent)
  const left = answer.then(
    (answered) => answered,
    () => undefined,
  )
  await expect.poll(() => runsOf(gate), soon).toBe(before + 1)
  return {
    answer,
    id: sent.id,
    /** Disconnects the client. Resolves once the service has noticed. */
    leave: async () => {
      const ended = await requestsEnded(service)
      controller.abort()
      await left
      await expect.poll(() => requestsEnded(service), soon).toBe(ended + 1)
    },
  }
}
type Begun = { gate: string; key: string; isCurrent?: boolean; keyed?: string }

export async function requestsEnded(service: TestService): Promise<number> {
  const { body } = await service.get('/metrics')
  const counts = [...(body as string).matchAll(/^errand_http_requests_total\{.*operation="mcp".*\} (\d+)$/gm)]
  return counts.reduce((sum, [, count]) => sum + Number(count), 0)
}

export async function statuses(service: TestService, key: string): Promise<string[]> {
  const { body } = await service.get('/api/tasks', key)
  return body.tasks.map(({ status }: { status: string }) => status)
}
