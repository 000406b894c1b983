import { expect } from 'vitest'
import { createOpenApiDocument } from '../../openapi/openapi-document.ts'
import { Browser, password } from '../api/browser-login.ts'
import type { PlatformCalls } from '../api/platform-calls.ts'
import type { Answer, Person, TestService } from '../support/test-service.ts'

/** A service on a database with dead rows. */
type Called = {
  service: TestService
  /** An admin who owns most of the rows. */
  person: Person
  platform: PlatformCalls
  webhookId: string
}

/**
 * Operations that are not called. Most read only one row and then call another server. Searches read a list in pieces
 * and have a separate test.
 */
const notCalled = [
  'POST /api/connectors/{connectorId}/test',
  'POST /api/connectors/{connectorId}/sign-in',
  'PUT /api/connectors/{connectorId}/sign-in',
  'GET /api/connectors/{connectorId}/tools',
  'POST /api/connectors/{connectorId}/call',
  'POST /api/webhooks/{webhookId}/test',
]

type Headed = { expected?: number; [header: string]: string | number | undefined }

/** Calls every operation of the API, with each filter of its lists. */
export async function callEverything({ person, platform, service, webhookId }: Called): Promise<void> {
  const called = new Set<string>()
  const answered = ({ body, status }: Answer, { expected = 200, what }: { expected?: number; what: string }) => {
    called.add(what.replace(/\?.*/, ''))
    expect(status, `${what}: ${JSON.stringify(body)}`).toBe(expected)
    return body
  }
  const call = async (method: string, path: string, body?: unknown, { expected = 200, ...headers }: Headed = {}) => {
    const options = { key: person.key, headers: headers as Record<string, string> }
    const answer = await service.request(method, path, { ...options, ...(body !== undefined && { body }) })
    return answered(answer, { expected, what: `${method} ${path}` })
  }
  const lists = ['tasks', 'sessions', 'transactions', 'topups', 'keys', 'connectors', 'webhooks', 'agents']
  for (const list of lists) await call('GET', `/api/${list}`)
  for (const status of ['completed', 'failed', 'pending']) await call('GET', `/api/tasks?status=${status}&agentId=test`)
  await call('GET', '/api/tasks?include=preview')
  for (const status of ['active', 'expired', 'completed']) await call('GET', `/api/sessions?status=${status}`)
  for (const filter of ['type=chat_charge', 'taskId=task_5', 'sessionId=ses_5', 'turnId=turn_5']) {
    await call('GET', `/api/transactions?${filter}`)
  }
  await call('GET', '/api/agents/talk')
  await call('GET', '/api/account')
  await call('GET', '/api/usage?days=7')
  await call('PATCH', '/api/account', { notifyBelowUsd: '1' })
  await call('POST', '/api/topups', { amountUsd: '25' })
  await call('GET', '/api/topups/topup_5')

  const { taskId } = await call('POST', '/api/tasks', { endpointId: 'test.echo', params: {} })
  await call('GET', `/api/tasks/${taskId}?wait=20`)
  await call('GET', `/api/tasks/${taskId}/events`)
  await call('POST', `/api/tasks/${taskId}/cancel`, {})
  const own = { 'Idempotency-Key': 'another' }
  await call('POST', '/api/tasks', { endpointId: 'test.fail', params: {} }, own)
  await call('POST', '/api/quotes', { task: { endpointId: 'test.echo', params: {} } })
  await call('GET', '/api/payloads/pay_5', undefined, { expected: 403 })

  const { sessionId } = await call('POST', '/api/sessions', { agentId: 'talk' })
  await call('POST', '/api/sessions', { agentId: 'talk' }, own)
  await call('GET', `/api/sessions/${sessionId}`)
  await call('PATCH', `/api/sessions/${sessionId}`, { metadata: { a: 1 } })
  await call('POST', '/api/chat', { sessionId, message: 'hello' })
  await call('GET', `/api/sessions/${sessionId}/messages`)
  await call('GET', '/api/sessions/ses_1/messages')
  await call('GET', `/api/sessions/${sessionId}/stream`, undefined, { expected: 204 })
  await call('GET', '/api/chat/turn_5/events', undefined, { expected: 410 })
  await call('POST', '/api/chat/turn_5/stop', {})
  await call('POST', '/v1/chat/completions', { model: 'talk', messages: [{ role: 'user', content: 'hello' }] })
  const { id: responseId } = await call('POST', '/v1/responses', { model: 'talk', input: 'hello' })
  await call('GET', `/v1/responses/${responseId}`)
  await call('DELETE', `/api/sessions/${sessionId}`)

  const key = await call('POST', '/api/keys', { name: 'more', scopes: ['read'] })
  await call('GET', `/api/keys/${key.id}`)
  await call('PATCH', `/api/keys/${key.id}`, { limitUsd: '1', limitReset: 'day' })
  const { id: rotated } = await call('POST', `/api/keys/${key.id}/rotate`, {})
  await call('DELETE', `/api/keys/${rotated}`)
  const token = await call('POST', '/api/client-tokens', { scopes: ['read'], expiresInSeconds: 60 })
  await call('GET', '/api/client-tokens')
  await call('DELETE', `/api/client-tokens/${token.id}`)

  const connector = await call('POST', '/api/connectors', { name: 'Docs', url: 'https://mcp.example.com/mcp' })
  await call('GET', '/api/connector-servers')
  await call('GET', `/api/connectors/${connector.id}`)
  await call('PATCH', `/api/connectors/${connector.id}`, { name: 'Other' })
  await call('DELETE', `/api/connectors/${connector.id}/sign-in`, undefined, { expected: 400 })
  await call('DELETE', `/api/connectors/${connector.id}`)
  const webhook = await call('POST', '/api/webhooks', { url: 'https://example.com/other' })
  await call('GET', `/api/webhooks/${webhook.id}`)
  await call('PATCH', `/api/webhooks/${webhook.id}`, { description: 'other' })
  await call('POST', `/api/webhooks/${webhook.id}/rotate`, {})
  await call('GET', `/api/webhooks/${webhookId}/deliveries`)
  await call('GET', `/api/webhooks/${webhookId}/deliveries?status=failed`)
  await call('POST', `/api/webhooks/${webhookId}/deliveries/evt_5/redeliver`, {})
  await call('GET', `/api/webhooks/${webhookId}/deliveries/evt_5`)
  await call('DELETE', `/api/webhooks/${webhook.id}`)

  const ofPlatform = async (method: string, path: string, body?: unknown, user?: string) =>
    answered(await platform.call(method, path, { ...(body !== undefined && { body }), ...(user && { user }) }), {
      what: `${method} ${path}`,
    })
  const { id: made } = await ofPlatform('PUT', '/api/users/by-external-id/new', {})
  await ofPlatform('PUT', '/api/users/by-external-id/external5', {})
  await ofPlatform('GET', '/api/users/by-external-id/external5')
  await ofPlatform('POST', `/api/users/${made}/credit`, { amountUsd: '1', reason: 'Top-up' })
  const { id: madeKey } = await ofPlatform('POST', `/api/users/${made}/keys`, { name: 'own', scopes: ['read'] })
  await ofPlatform('GET', `/api/users/${made}/keys`)
  await ofPlatform('DELETE', `/api/users/${made}/keys/${madeKey}`)
  await ofPlatform('GET', '/api/account', undefined, made)

  const browser = new Browser(service)
  const ofAdmin = async (method: string, path: string, body?: unknown, expected = 200) =>
    answered(await browser.request(method, path, body === undefined ? {} : { body }), {
      expected,
      what: `${method} ${path}`,
    })
  const { email, userId } = person
  await ofAdmin('GET', '/api/login')
  await ofAdmin('POST', '/api/login', { email, password: 'another password' }, 401)
  await ofAdmin('POST', '/api/login', { email, password })
  await ofAdmin('POST', '/api/account/password', { currentPassword: password, newPassword: 'another password' })
  await ofAdmin('GET', '/api/logins')
  await ofAdmin('DELETE', '/api/logins/login_5', undefined, 404)
  await ofAdmin('DELETE', '/api/account/payment-method')
  await ofAdmin('GET', '/api/payments')
  await ofAdmin('GET', '/api/system')
  await ofAdmin('GET', '/api/admin/economics?from=2026-01-01&to=2026-12-31')
  for (const query of ['', `?userId=${userId}`, '?action=key.created', `?userId=${userId}&action=key.created`])
    await ofAdmin('GET', `/api/admin/audit${query}`)
  await ofAdmin('GET', '/api/admin/mail')
  await ofAdmin('POST', '/api/admin/mail/test', { to: 'ada@example.com' })
  await ofAdmin('GET', '/api/users')
  await ofAdmin('GET', `/api/users/${userId}`)
  await ofAdmin('GET', `/api/users/${userId}/transactions`)
  await ofAdmin('GET', `/api/admin/owners/${taskId}`)
  await ofAdmin('GET', `/api/users/${userId}/tasks`)
  await ofAdmin('GET', `/api/users/${userId}/tasks/${taskId}`)
  await ofAdmin('GET', `/api/users/${userId}/sessions`)
  await ofAdmin('POST', `/api/users/${made}/unblock`, {})
  await ofAdmin('POST', '/api/users/user_5/password-link', {})
  const { id: invitationId } = await ofAdmin('POST', '/api/invitations', { email: 'ada@example.com' })
  await ofAdmin('GET', '/api/invitations')
  await ofAdmin('DELETE', `/api/invitations/${invitationId}`)
  const { url } = await ofAdmin('POST', '/api/invitations', { email: 'eve@example.com' })
  const [, secret] = url.split('#')
  await ofAdmin('POST', '/api/invitations/check', { token: secret })
  const stranger = new Browser(service)
  await ofAdmin('POST', '/api/password-resets', { email })
  for (const address of [email, 'fay@example.com']) await ofAdmin('POST', '/api/sign-up', { email: address })
  answered(await stranger.post('/api/invitations/accept', { token: secret, password }), {
    what: 'POST /api/invitations/accept',
  })
  for (const path of ['/api/account/export', '/api/transactions/export', '/api/tasks/export']) {
    answered(await stranger.request('GET', path), { what: `GET ${path}` })
  }
  const { id: platformKeyId } = await ofAdmin('POST', '/api/platform-keys', { name: 'more', scopes: ['users'] })
  await ofAdmin('GET', '/api/platform-keys')
  await ofAdmin('GET', `/api/platform-keys/${platformKeyId}`)
  await ofAdmin('GET', `/api/users/${userId}/logins`)
  await ofAdmin('DELETE', `/api/users/${userId}/logins/login_5`, undefined, 404)
  await ofAdmin('DELETE', `/api/platform-keys/${platformKeyId}/client-tokens/ctok_0`, undefined, 404)
  await ofAdmin('DELETE', `/api/platform-keys/${platformKeyId}`)
  await ofAdmin('PATCH', `/api/users/${made}`, { isAdmin: true })
  await ofAdmin('PATCH', `/api/users/${made}`, { isAdmin: false })
  await ofAdmin('PATCH', `/api/users/${userId}`, { limits: { tasksWaiting: 100, spendPerDayUsd: '100' } })
  await call('POST', '/api/tasks', { endpointId: 'test.echo', params: {} })
  await ofAdmin('POST', `/api/users/${made}/erase`, { forfeitBalanceUsd: '1' })
  while (await service.app.store.erasure.eraseMore(made)) continue
  await ofAdmin('POST', '/api/account/erase', {}, 400)
  await ofAdmin('POST', '/api/logout')
  await ofAdmin('POST', '/api/login', { email, password: 'another password' })
  await ofAdmin('DELETE', '/api/logins')
  await service.app.store.purgeExpired()

  const operations = Object.entries(createOpenApiDocument()['paths'] as object).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  )
  const isCalled = (operation: string) => {
    const pattern = new RegExp(`^${operation.replaceAll(/\{\w+\}/g, '[^/]+')}$`)
    return [...called].some((one) => pattern.test(one))
  }
  expect(operations.filter((operation) => !isCalled(operation))).toEqual(notCalled)
}
