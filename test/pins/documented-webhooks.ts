import { must } from '../../server/kernel/assert.ts'
import type { Checker } from './documented-answers.ts'
import { startReceiver } from '../webhooks/receiver.ts'
import { until, waitMsMax } from '../support/until.ts'

const long = 'x'.repeat(201)
const large = 'x'.repeat(25_000)
const text = { 'content-type': 'text/plain' }

export async function checkWebhooks(checker: Checker): Promise<void> {
  const receiver = await startReceiver()
  const create = (status: number, body: unknown) => checker.check(status, 'POST /api/webhooks', { body })
  const { id } = (await create(200, { url: receiver.url })).body
  const { id: ofTasks } = (await create(200, { url: null })).body
  await create(400, { url: 'https://10.0.0.1/' })
  await create(409, { url: null })
  const at = `/api/webhooks/${id}`
  const { eventId } = (await checker.check(200, `POST ${at}/test`, { body: {} })).body
  await checker.check(409, `POST /api/webhooks/${ofTasks}/test`, { body: {} })
  for (const request of ['GET /api/webhooks', `GET ${at}`, `GET ${at}/deliveries`]) await checker.check(200, request)
  await checker.check(200, `POST ${at}/rotate`, { body: {} })
  const rotations = Array.from({ length: 6 }, () => checker.service.post(`${at}/rotate`, {}, { key: checker.key }))
  const late = (await Promise.all(rotations)).find(({ status }) => status === 409)
  checker.note(409, `POST ${at}/rotate`, { answer: must(late, 'one that was overtaken'), body: {} })
  await checker.check(200, `GET ${at}/deliveries/${eventId}`)
  await checker.check(200, `POST ${at}/deliveries/${eventId}/redeliver`, { body: {} })
  await until('it has come twice', waitMsMax, () => receiver.received.length === 2)
  await checker.check(200, `PATCH ${at}`, { body: { isEnabled: false } })
  await checker.check(409, `POST ${at}/deliveries/${eventId}/redeliver`, { body: {} })
  await checker.check(400, `PATCH ${at}`, { body: {} })
  await checker.check(404, `GET ${at}/deliveries/evt_0`)
  await checker.check(400, `GET ${at}/deliveries/${long}`)
  await checker.check(404, `POST ${at}/deliveries/evt_0/redeliver`, { body: {} })
  await checker.check(200, `DELETE ${at}`)
  for (const request of [`GET ${at}`, `DELETE ${at}`, `GET ${at}/deliveries`]) await checker.check(404, request)
  await checker.check(404, `PATCH ${at}`, { body: { isEnabled: true } })
  for (const what of ['test', 'rotate']) await checker.check(404, `POST ${at}/${what}`, { body: {} })
  await checker.check(400, 'GET /api/webhooks?limit=x')
  await checker.check(400, `GET ${at}/deliveries?limit=x`)
  for (const method of ['GET', 'DELETE']) await checker.check(400, `${method} /api/webhooks/${long}`)
  const ofLong = `/api/webhooks/${long}`
  for (const what of ['test', 'rotate', 'deliveries/evt_0/redeliver']) {
    await checker.check(400, `POST ${ofLong}/${what}`, { body: {} })
    await checker.check(413, `POST ${at}/${what}`, { body: { name: large } })
    await checker.check(415, `POST ${at}/${what}`, { body: '{}', headers: text })
  }
  for (const request of ['POST /api/webhooks', `PATCH ${at}`]) {
    await checker.check(413, request, { body: { description: large } })
    await checker.check(415, request, { body: '{}', headers: text })
  }
  await receiver.stop()
}
