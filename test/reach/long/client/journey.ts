import { createHmac } from 'node:crypto'
import type { TestService } from '../../../support/test-service.ts'

// An app's use of the client as program text: create, wait, stream, abort, verify a webhook.

/** A function of the package's exports and the settings; returns the value of `journeyResult`. */
export const journeyText = `
async function journey({ createClient, isErrandError, unwrap }, { baseUrl, apiKey, webhook }) {
  const client = createClient({ baseUrl, apiKey })
  const { taskId } = await client.tasks.create({ endpointId: 'test.echo', params: { text: 'Grüße 👋' } })
  const task = await client.tasks.wait(taskId, { timeoutMs: 30000 })
  const { sessionId } = await client.sessions.create({ agentId: 'talk' })
  const types = new Set()
  let text = ''
  for await (const event of client.chat.stream({ sessionId, message: 'hello' })) {
    types.add(event.type)
    if (event.type === 'assistant_delta') text += event.delta
  }
  const controller = new AbortController()
  const slow = await client.tasks.create({ endpointId: 'test.wait', params: { ms: 1500 } })
  setTimeout(() => controller.abort('left'), 50)
  const aborted = await client.tasks.wait(slow.taskId, { signal: controller.signal }).catch((reason) => reason)
  const event = await unwrap(webhook.body, new Headers(webhook.headers), webhook.secret)
  const forged = await unwrap(webhook.body + ' ', new Headers(webhook.headers), webhook.secret).catch((error) => error)
  const missing = await client.tasks.get({ taskId: 'task_none' }).catch((error) => error)
  const listed = []
  for await (const { id } of client.tasks.list()) listed.push(id)
  return {
    response: task.response,
    ended: types.has('done'),
    text,
    aborted,
    event,
    codes: [forged, missing].map((error) => isErrandError(error) && error.code),
    isListed: listed.includes(taskId) && listed.includes(slow.taskId),
  }
}
`

export const journeyResult = {
  response: { text: 'Grüße 👋' },
  ended: true,
  text: 'You said: hello',
  aborted: 'left',
  event: { type: 'task.completed', timestamp: '2026-01-01T00:00:00.000Z', data: { taskId: 'task_1' } },
  codes: ['INVALID_SIGNATURE', 'NOT_FOUND'],
  isListed: true,
}

export type JourneySettings = {
  baseUrl: string
  apiKey: string
  webhook: { body: string; headers: Record<string, string>; secret: string }
}

/** Returns the settings of a new user's journey, with a webhook signed now. */
export async function journeySettings(service: TestService): Promise<JourneySettings> {
  const { key } = await service.createPerson()
  const secret = Buffer.alloc(24, 7).toString('base64')
  const body = JSON.stringify(journeyResult.event)
  const seconds = Math.floor(Date.now() / 1000)
  const signed = createHmac('sha256', Buffer.from(secret, 'base64')).update(`msg_1.${seconds}.${body}`).digest('base64')
  const headers = { 'webhook-id': 'msg_1', 'webhook-timestamp': String(seconds), 'webhook-signature': `v1,${signed}` }
  return { baseUrl: service.url, apiKey: key, webhook: { body, headers, secret: `whsec_${secret}` } }
}

/** Returns a program that runs the journey with the settings in `JOURNEY` and prints its result as JSON. */
export function journeyProgram(kind: 'esm' | 'cjs'): string {
  const imports =
    kind === 'esm'
      ? `import { createClient, isErrandError } from 'errand-client'\nimport { unwrap } from 'errand-client/webhooks'\nimport process from 'node:process'`
      : `const { createClient, isErrandError } = require('errand-client')\nconst { unwrap } = require('errand-client/webhooks')`
  const call = 'journey({ createClient, isErrandError, unwrap }, JSON.parse(process.env.JOURNEY))'
  const end = `${call}.then((result) => { console.log(JSON.stringify(result)); process.exit(0) }, (error) => { console.error(error); process.exit(1) })`
  return `${imports}\n${journeyText}\n${end}\n`
}
