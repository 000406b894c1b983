import { expect } from 'vitest'
import type { Receiver } from './receiver.ts'

/** Creates a webhook for task ends on a service process and returns its secret. */
export async function createWebhook(url: string, key: string, receiver: Receiver): Promise<string> {
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' }
  const body = JSON.stringify({ url: receiver.url, types: ['task.completed', 'task.failed'] })
  const answer = await fetch(`${url}/api/webhooks`, { method: 'POST', headers, body })
  expect(answer.status).toBe(200)
  return ((await answer.json()) as { secret: string }).secret
}
