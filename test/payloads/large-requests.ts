import { expect } from 'vitest'
import type { TestService } from '../support/test-service.ts'

/**
 * Runs a task with a request and a response of a megabyte. Expects that both can be read, and downloaded with their
 * signed links but not with altered ones.
 */
export async function expectLargeTask(service: TestService): Promise<{ ids: string[] }> {
  const { key } = await service.createPerson()
  const params = { text: 'aé€😀'.repeat(105_000) }
  expect(Buffer.byteLength(JSON.stringify(params))).toBeGreaterThan(1_000_000)
  const task = await service.runTask(key, 'test.echo', params)
  expect(task).toMatchObject({ status: 'completed', costUsd: '0.0100' })
  const ids: string[] = []
  for (const uri of [task.requestUri, task.responseUri] as string[]) {
    const answer = await fetch(uri)
    expect(answer.status).toBe(200)
    expect(await answer.json()).toEqual(params)
    const head = await fetch(uri, { method: 'HEAD' })
    expect(head.headers.get('content-length')).toBe(String(Buffer.byteLength(JSON.stringify(params))))
    ids.push(/pay_\w+/.exec(uri)![0])
    const other = uri.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'))
    expect((await fetch(other)).status).toBe(403)
  }
  return { ids }
}
