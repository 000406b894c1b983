import { newId } from '../../../server/kernel/ids.ts'
import { addressCharsMax } from '../../../server/payments/payment-port.ts'
import { StripeStub } from '../../payments/stripe-stub.ts'
import { expect, test } from 'vitest'
import { defineConfig } from '../../../server/agents/config/define-config.ts'
import { describedRouter, proceduresOf } from '../../../server/edge/root-router.ts'
import { platformScopes } from '../../../server/store/platform/platform-types.ts'
import { messageTextBytesMax, pageBytesMax, toolCallsBytesMax } from '../../../server/store/byte-bounds.ts'
import { nothingUsed } from '../../../server/store/sessions/turn-endings.ts'
import type { Browser } from '../../api/browser-login.ts'
import { sessionAgents } from '../../api/session-calls.ts'
import { signUpAdmin } from '../../api/signed-in.ts'
import { startStubMcpServer } from '../../api/stub-mcp-server.ts'
import { startService, type Person, type TestService } from '../../support/test-service.ts'

// Maximum response size of each operation, from its input and its rows. Growing lists are paged. Builds the largest
// page of each list, and the largest object of each kind.

const kb = 1024

/** Lists from the operator's configuration, which determines their size. */
const configured = 'the configuration'

const bounds: Record<string, number | typeof configured> = {
  'tasks.create': kb,
  'tasks.get': 64 * kb,
  'tasks.cancel': 64 * kb,
  'tasks.list': 64 * kb,
  'sessions.create': kb,
  'sessions.get': 20 * kb,
  'sessions.list': 64 * kb,
  'sessions.update': 20 * kb,
  'sessions.delete': kb,
  'sessions.messages': pageBytesMax + messageTextBytesMax + toolCallsBytesMax,
  'chat.stop': kb,
  'agents.list': configured,
  'agents.get': configured,
  'quotes.create': 6 * kb,
  'connectors.create': 80 * kb,
  'connectors.list': pageBytesMax + 80 * kb,
  'connectors.get': 80 * kb,
  'connectors.update': 80 * kb,
  'connectors.delete': kb,
  'connectors.test': 80 * kb,
  'connectors.signIn': 10 * kb,
  'connectors.finishSignIn': 80 * kb,
  'connectors.signOut': kb,
  'connectors.tools': 4 * 1024 * kb,
  'connectors.callTool': 7 * 1024 * kb,
  'connectors.servers': configured,
  'webhooks.create': 4 * kb,
  'webhooks.list': 40 * kb,
  'webhooks.get': 4 * kb,
  'webhooks.update': 4 * kb,
  'webhooks.delete': kb,
  'webhooks.rotate': 4 * kb,
  'webhooks.test': 4 * kb,
  'webhooks.deliveries': 300 * kb,
  'webhooks.delivery': 16 * kb,
  'webhooks.redeliver': 4 * kb,
  'account.get': 10 * kb,
  'account.update': 10 * kb,
  'account.usage': 20 * kb,
  'account.changePassword': kb,
  'account.erase': kb,
  'topups.create': 8 * kb,
  'topups.get': 8 * kb,
  'topups.list': 512 * kb,
  'topups.listAll': 512 * kb,
  'topups.removeMethod': kb,
  'transactions.list': 512 * kb,
  'keys.create': 5 * kb,
  'keys.get': 5 * kb,
  'keys.list': 450 * kb,
  'keys.update': 5 * kb,
  'keys.rotate': 5 * kb,
  'keys.revoke': 5 * kb,
  'clientTokens.create': 16 * kb,
  'clientTokens.list': 450 * kb,
  'clientTokens.revoke': 16 * kb,
  'login.options': configured,
  'login.create': 2 * kb,
  'login.end': kb,
  'logins.list': 128 * kb,
  'logins.end': kb,
  'logins.endAll': kb,
  'invitations.create': 2 * kb,
  'invitations.list': 128 * kb,
  'invitations.revoke': kb,
  'invitations.check': kb,
  'invitations.requestPasswordReset': kb,
  'invitations.requestSignUp': kb,
  'invitations.accept': 2 * kb,
  'users.list': 512 * kb,
  'users.get': 6 * kb,
  'users.update': 6 * kb,
  'users.unblock': 6 * kb,
  'users.erase': 6 * kb,
  'users.credit': kb,
  'users.getByExternalId': 6 * kb,
  'users.getOrCreate': 6 * kb,
  'users.createKey': 5 * kb,
  'users.listKeys': 450 * kb,
  'users.revokeKey': 5 * kb,
  'users.listLogins': 128 * kb,
  'users.endLogin': kb,
  'platformKeys.create': 8 * kb,
  'platformKeys.list': 512 * kb,
  'platformKeys.revoke': 8 * kb,
  'platformKeys.get': 512 * kb,
  'platformKeys.revokeToken': 8 * kb,
  'users.transactions': 512 * kb,
  'users.findOwner': kb,
  'users.tasks': 512 * kb,
  'users.task': 64 * kb,
  'users.sessions': 512 * kb,
  'users.createPasswordLink': 2 * kb,
  'system.get': configured,
  'economics.get': 512 * kb,
  'audit.list': 512 * kb,
  'mail.get': 64 * kb,
  'mail.sendTest': kb,
}

type World = { admin: Browser; person: Person; service: TestService; ids: Record<string, string> }

/** A character that takes six bytes in JSON. */
const wide = (count: number) => '\u0001'.repeat(count)
const limit = 'limit=100'
/** The longest external id. */
const ideographs = encodeURIComponent('\u4e00'.repeat(200))

const largest: Record<string, (world: World) => Promise<{ body: unknown }>> = {
  'tasks.get': ({ ids, person, service }) => service.get(`/api/tasks/${ids['task']}`, person.key),
  'tasks.cancel': ({ ids, person, service }) =>
    service.post(`/api/tasks/${ids['task']}/cancel`, undefined, { key: person.key }),
  'tasks.list': ({ person, service }) => service.get(`/api/tasks?${limit}&include=preview`, person.key),
  'sessions.get': ({ ids, person, service }) => service.get(`/api/sessions/${ids['session']}`, person.key),
  'sessions.list': ({ person, service }) => service.get(`/api/sessions?${limit}`, person.key),
  'sessions.update': ({ ids, person, service }) =>
    service.request('PATCH', `/api/sessions/${ids['session']}`, { key: person.key, body: { metadata: {} } }),
  'sessions.messages': ({ ids, person, service }) =>
    service.get(`/api/sessions/${ids['session']}/messages?offset=1&${limit}`, person.key),
  'connectors.get': ({ ids, person, service }) => service.get(`/api/connectors/${ids['connector']}`, person.key),
  'connectors.list': ({ person, service }) => service.get(`/api/connectors?${limit}`, person.key),
  'connectors.tools': ({ ids, person, service }) =>
    service.get(`/api/connectors/${ids['connector']}/tools`, person.key),
  'webhooks.list': ({ person, service }) => service.get(`/api/webhooks?${limit}`, person.key),
  'webhooks.get': ({ ids, person, service }) => service.get(`/api/webhooks/${ids['webhook']}`, person.key),
  'webhooks.deliveries': ({ ids, person, service }) =>
    service.get(`/api/webhooks/${ids['webhook']}/deliveries?${limit}`, person.key),
  'webhooks.delivery': async ({ ids, person, service }) => {
    const at = `/api/webhooks/${ids['webhook']}/deliveries`
    const { deliveries } = (await service.get(`${at}?limit=1`, person.key)).body
    return await service.get(`${at}/${deliveries[0].eventId}`, person.key)
  },
  'account.get': ({ person, service }) => service.get('/api/account', person.key),
  'account.usage': ({ person, service }) => service.get('/api/usage?days=90', person.key),
  'topups.list': ({ person, service }) => service.get(`/api/topups?${limit}`, person.key),
  'topups.get': ({ ids, person, service }) => service.get(`/api/topups/${ids['topup']}`, person.key),
  'topups.listAll': ({ admin }) => admin.request('GET', `/api/payments?${limit}`),
  'transactions.list': ({ person, service }) => service.get(`/api/transactions?${limit}`, person.key),
  'keys.list': ({ person, service }) => service.get(`/api/keys?${limit}`, person.key),
  'clientTokens.list': ({ person, service }) => service.get(`/api/client-tokens?${limit}`, person.key),
  'logins.list': ({ admin }) => admin.request('GET', `/api/logins?${limit}`),
  'invitations.list': ({ admin }) => admin.request('GET', `/api/invitations?${limit}`),
  'users.list': ({ admin }) => admin.request('GET', `/api/users?${limit}`),
  'users.get': ({ admin, person }) => admin.request('GET', `/api/users/${person.userId}`),
  'users.getByExternalId': ({ admin }) => admin.request('GET', `/api/users/by-external-id/${ideographs}`),
  'users.listKeys': ({ admin, person }) => admin.request('GET', `/api/users/${person.userId}/keys?${limit}`),
  'platformKeys.list': ({ admin }) => admin.request('GET', `/api/platform-keys?${limit}`),
  'users.transactions': ({ admin, person }) =>
    admin.request('GET', `/api/users/${person.userId}/transactions?${limit}`),
  'users.findOwner': ({ admin, ids }) => admin.request('GET', `/api/admin/owners/${ids['task']}`),
  'users.tasks': ({ admin, person }) => admin.request('GET', `/api/users/${person.userId}/tasks?${limit}`),
  'users.task': ({ admin, ids, person }) => admin.request('GET', `/api/users/${person.userId}/tasks/${ids['task']}`),
  'users.sessions': ({ admin, person }) => admin.request('GET', `/api/users/${person.userId}/sessions?${limit}`),
}

const streams = new Set(['chat.stream', 'chat.resume', 'chat.resumeSession', 'tasks.events'])

test('every operation except streams has a response size bound in this file', () => {
  const operations = Object.keys(proceduresOf(describedRouter)).filter((name) => !streams.has(name))
  expect(Object.keys(bounds).toSorted()).toEqual(operations.toSorted())
})

test('the largest response of each list and object kind is within its bound', async () => {
  const stub = await startStubMcpServer({
    tools: Array.from({ length: 200 }, (_, n) => ({
      name: `${n}`,
      description: 'x'.repeat(4000),
      inputSchema: { type: 'object', properties: { a: { description: 'é'.repeat(500) } } },
    })),
  })
  const payer = await StripeStub.start()
  const service = await startService({
    config: defineConfig({ agents: [...sessionAgents.agents] }),
    payments: payer.settings,
    privateHosts: ['127.0.0.1'],
    limits: { executionsPerMinute: 0 },
  })
  const world = await fill(service, stub.url)
  const sizes: Record<string, number> = {}
  for (const [operation, ask] of Object.entries(largest)) {
    const { body } = await ask(world)
    const bytes = Buffer.byteLength(JSON.stringify(body))
    expect(bytes, operation).toBeGreaterThan(100)
    sizes[operation] = bytes
  }
  const over = Object.entries(sizes).filter(([operation, bytes]) => bytes > Number(bounds[operation]))
  expect(over).toEqual([])
  // Checks that the pages are full.
  for (const list of ['sessions.messages', 'connectors.list']) expect(sizes[list]).toBeGreaterThan(pageBytesMax / 2)
  for (const list of ['transactions.list', 'connectors.tools']) expect(sizes[list]).toBeGreaterThan(100 * kb)
  await service.stop()
  await stub.stop()
  await payer.stop()
})

async function fill(service: TestService, url: string): Promise<World> {
  const { store } = service.app
  const { browser: admin, userId: adminId } = await signUpAdmin(service)
  const person = await service.createPerson({ email: `${'a'.repeat(64)}@${'b'.repeat(63)}.${'c'.repeat(63)}.example` })
  const { key, userId } = person
  const ids: Record<string, string> = {}
  const platformKey = {
    name: wide(100),
    hint: 'abcd',
    scopes: [...platformScopes],
    addresses: Array.from({ length: 50 }, () => `${'1234:'.repeat(7)}1234/128`),
    creditPerDay: null,
    createdBy: null,
    expiresAt: null,
  }
  const agents = Array.from({ length: 50 }, (_, agent) => `${agent}`.padStart(63, 'a'))
  const maker = (await service.get('/api/keys', key)).body.keys[0].id
  const bound = { userId, agents, sessionId: 's'.repeat(200), taskId: null, isOnce: true, createdBy: maker }
  const spending = { scopes: ['read' as const, 'execute' as const], maxCost: 10 ** 15, lifeMs: 3_600_000 }
  const limited = { agents, spendLimit: 10 ** 15, spendReset: 'month' as const, rateLimit: 100_000 }
  for (let n = 0; n < 100; n++) {
    const { body } = await service.post(
      '/api/sessions',
      { agentId: 'one', metadata: { a: 'x'.repeat(16_376) } },
      { key },
    )
    ids['session'] = body.sessionId
    ids['connector'] = (
      await service.post(
        '/api/connectors',
        {
          name: `${wide(50)}${n}.`,
          url,
          allowedTools: Array.from({ length: 300 }, (_, tool) => `${tool}${'y'.repeat(190)}`),
        },
        { key },
      )
    ).body.id
    const topupId = (ids['topup'] = newId('top', n))
    const topup = { userId, topupId, provider: 'stripe', amount: 1_000_000, idempotency: null } as const
    await store.payments.createTopup(topup)
    const receiptUrl = `https://receipts.example/${'u'.repeat(addressCharsMax - 40)}`
    const paid = { amount: topup.amount, currency: 'usd' }
    const nothing = { reason: null, checkoutId: null, method: null, refunded: 0, disputed: 0 }
    const state = { ...nothing, topupId, status: 'paid', paid, paymentId: topupId, receiptUrl } as const
    await store.payments.applyState({ state, version: 0 })
    if (n < 10) {
      const hook = { url: `http://127.0.0.1:9/${'u'.repeat(2020)}`, description: wide(100) }
      ids['webhook'] = (await service.post('/api/webhooks', n === 9 ? { ...hook, url: null } : hook, { key })).body.id
    }
    await store.createKey({
      userId,
      name: wide(100),
      hint: 'abcd',
      scopes: ['read'],
      expiresAt: null,
      tokenHash: `${n}`,
      ...limited,
    })
    await store.platform.createToken({ ...bound, ...spending, tokenHash: `token${n}` })
    const login = { userId: adminId, method: 'password', provider: null, forget: null } as const
    if (n < 99) await store.createLogin({ ...login, tokenHash: `login${n}`, userAgent: 'ÿ'.repeat(300) })
    await store.createUser({ email: `${n}${'a'.repeat(200)}@example.com`, passwordHash: null, isAdmin: false })
    await store.platform.createKey({ ...platformKey, tokenHash: `${n}` })
    await store.platform.openUser({ externalId: `${n}${'\u4e00'.repeat(190)}`, email: null, keyId: null })
    const invited = { email: `i${n}${'a'.repeat(200)}@example.com`, isAdmin: false, creditUsd: '1.0000' }
    await admin.request('POST', '/api/invitations', { body: invited })
  }
  await admin.request('PUT', `/api/users/by-external-id/${ideographs}`)
  const params = { text: wide(2727) }
  const turnId = 'turn_largest'
  const sessionId = ids['session']!
  for (let n = 0; n < 3; n++) {
    const of = { userId, sessionId, turnId: `${turnId}${n}`, idempotency: null, required: 1, hold: 1 }
    await store.openTurn(of)
    const toolCalls = Array.from({ length: 50 }, (_, call) => {
      return { id: `${call}`, name: wide(200), arguments: {}, output: { text: wide(2000) } }
    })
    await store.settleTurn({
      turnId: `${turnId}${n}`,
      outcome: 'finished',
      cost: 0,
      breakdown: nothingUsed,
      exchange: {
        message: { content: 'x'.repeat(messageTextBytesMax - 2), tokens: 1 },
        reply: { content: wide(1_000_000), tokens: 1, toolCalls },
      },
    })
  }
  const { body } = await service.createTask(key, 'mute.run', params)
  ids['task'] = body.taskId
  await service.get(`/api/tasks/${body.taskId}?wait=20`, key)
  // Nothing listens on this port.
  const told = { endpointId: 'mute.run', params: {}, webhookUrl: `http://127.0.0.1:9/${'u'.repeat(2020)}` }
  for (let n = 0; n < 99; n++) await service.post('/api/tasks', told, { key })
  const credit = { userId, amount: 1, description: wide(500), idempotencyKey: null }
  for (let n = 0; n < 100; n++) await store.credit(credit)
  await store.changeAccountLimits({ userId, changes: { agents, spendPerDay: 10 ** 15 } })
  return { admin, ids, person, service }
}
