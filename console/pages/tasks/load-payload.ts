import type { Task } from '../../../client/client.ts'
import { client } from '../../app/api-client.ts'

export type PayloadPart = 'request' | 'response'

/**
 * Loads the full params or result of a task that contains only a preview. Requests a new link, because the task's link
 * may have expired since the page was opened.
 */
export async function loadPayload(taskId: string, part: PayloadPart, signal?: AbortSignal): Promise<unknown> {
  return JSON.parse(await loadPayloadText(taskId, part, signal)) as unknown
}

export async function loadPayloadText(taskId: string, part: PayloadPart, signal?: AbortSignal): Promise<string> {
  return await readPayloadText(await client.tasks.get({ taskId }, { signal }), part, signal)
}

export async function loadInput(taskId: string, signal?: AbortSignal) {
  const task = await client.tasks.get({ taskId }, { signal })
  const params = JSON.parse(await readPayloadText(task, 'request', signal)) as unknown
  return { params, connectorIds: task.connectorIds ?? [], tags: task.tags ?? {} }
}

async function readPayloadText(task: Task, part: PayloadPart, signal?: AbortSignal): Promise<string> {
  const uri = part === 'request' ? task.requestUri : task.responseUri
  if (uri === undefined) return JSON.stringify(task[part])
  // The service's links contain its public URL, but this page may use another host name.
  const { pathname, search } = new URL(uri)
  const answer = await fetch(pathname + search, signal ? { signal } : {})
  if (!answer.ok) throw new Error(`Could not download the ${part}: the service responded with status ${answer.status}.`)
  return await answer.text()
}
