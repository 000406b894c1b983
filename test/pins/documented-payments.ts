import { signUpAdmin } from '../api/signed-in.ts'
import { startService } from '../support/test-service.ts'
import type { Checker } from './documented-answers.ts'

const long = 'x'.repeat(201)
const large = 'x'.repeat(25_000)
const text = { 'content-type': 'text/plain' }

/** Checks each response of the operations on top-ups. Responses without payments or mail come from another service. */
export async function checkPayments(checker: Checker): Promise<void> {
  const { service } = checker
  const create = (status: number, body: unknown, headers: Record<string, string> = {}) =>
    checker.check(status, 'POST /api/topups', { body, headers })
  const named = { 'Idempotency-Key': 'topup' }
  const { id } = (await create(200, { amountUsd: '25.00' }, named)).body
  await create(409, { amountUsd: '26.00' }, named)
  await create(400, { amountUsd: '0' })
  for (const request of ['GET /api/topups', `GET /api/topups/${id}`]) await checker.check(200, request)
  await checker.check(400, 'GET /api/topups?limit=x')
  await checker.check(400, `GET /api/topups/${long}`)
  await checker.check(404, 'GET /api/topups/top_0')
  await checker.check(200, 'PATCH /api/account', { body: { notifyBelowUsd: '1' } })
  await checker.check(400, 'PATCH /api/account', { body: {} })
  const autoRecharge = { belowUsd: '5', toUsd: '25', monthlyMaxUsd: '100' }
  await checker.check(403, 'PATCH /api/account', { body: { autoRecharge } })
  await checker.check(200, 'DELETE /api/account/payment-method')
  for (const request of ['POST /api/topups', 'PATCH /api/account']) {
    await checker.check(413, request, { body: { name: large } })
    await checker.check(415, request, { body: '{}', headers: text })
  }
  const { browser } = await signUpAdmin(service)
  const askAsAdmin = async (status: number, path: string) =>
    checker.note(status, `GET ${path}`, { answer: await browser.request('GET', path) })
  const unsaved = await browser.request('PATCH', '/api/account', { body: { autoRecharge } })
  checker.note(409, 'PATCH /api/account', { answer: unsaved, body: { autoRecharge } })
  await askAsAdmin(200, '/api/payments')
  await askAsAdmin(400, '/api/payments?days=0')

  const without = await startService()
  const { key } = await without.createPerson()
  const { browser: admin } = await signUpAdmin(without)
  const refusals = {
    'POST /api/topups': { amountUsd: '25.00' },
    'GET /api/topups': undefined,
    'PATCH /api/account': { autoRecharge },
    'DELETE /api/account/payment-method': undefined,
  }
  for (const [request, body] of Object.entries(refusals)) {
    const [method, path] = request.split(' ') as [string, string]
    checker.note(404, request, { answer: await without.request(method, path, { key, body }), body })
  }
  checker.note(404, 'GET /api/payments', { answer: await admin.request('GET', '/api/payments') })
  const body = { to: 'ada@example.com' }
  const answer = await admin.request('POST', '/api/admin/mail/test', { body })
  checker.note(404, 'POST /api/admin/mail/test', { answer, body })
  await without.stop()
}
