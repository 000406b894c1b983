import { expect, test } from 'vitest'
import type { Reach } from '../../server/procedures/token-reach.ts'
import { describedRouter, proceduresOf } from '../../server/edge/root-router.ts'
import { platformScopes, type PlatformScope } from '../../server/store/platform/platform-types.ts'
import { startService, type TestService } from '../support/test-service.ts'
import { PlatformCalls } from './platform-calls.ts'
import { sessionAgents } from './session-calls.ts'

// Calls all operations of the API with every credential except a user's own. Add new operations here.

/**
 * Who may call an operation: the scope that a platform key needs for its own calls, whether a platform key may act as a
 * user, and the scope it then needs besides `act`, and which client tokens have access. Only tokens with the scope `pay`
 * have access if `pays` is set.
 */
type Decision = {
  platform?: PlatformScope | readonly PlatformScope[]
  acting?: true | 'pay' | 'connectors'
  tokens?: Exclude<Reach, 'none'>
  pays?: true
}

const actingOnly = { acting: true } as const
const changesConnectors = { acting: 'connectors' } as const
const nobody = {}
const decisions: Record<string, Decision | 'public'> = {
  'tasks.create': { acting: true, tokens: 'account' },
  'tasks.get': { acting: true, tokens: 'task' },
  'tasks.cancel': { acting: true, tokens: 'task' },
  'tasks.events': { acting: true, tokens: 'task' },
  'tasks.list': { acting: true, tokens: 'account' },
  'sessions.create': { acting: true, tokens: 'account' },
  'sessions.get': { acting: true, tokens: 'session' },
  'sessions.list': { acting: true, tokens: 'account' },
  'sessions.update': { acting: true, tokens: 'account' },
  'sessions.delete': { acting: true, tokens: 'account' },
  'sessions.messages': { acting: true, tokens: 'session' },
  'chat.stream': { acting: true, tokens: 'session' },
  'chat.resume': { acting: true, tokens: 'session' },
  'chat.resumeSession': { acting: true, tokens: 'session' },
  'chat.stop': { acting: true, tokens: 'session' },
  'quotes.create': { acting: true, tokens: 'account' },
  'agents.list': { acting: true, tokens: 'account' },
  'agents.get': { acting: true, tokens: 'account' },
  'connectors.create': changesConnectors,
  'connectors.list': actingOnly,
  'connectors.get': actingOnly,
  'connectors.update': changesConnectors,
  'connectors.delete': changesConnectors,
  'connectors.test': actingOnly,
  'connectors.signIn': changesConnectors,
  'connectors.finishSignIn': changesConnectors,
  'connectors.signOut': changesConnectors,
  'connectors.tools': actingOnly,
  'connectors.callTool': actingOnly,
  'connectors.servers': actingOnly,
  'webhooks.create': { platform: 'webhooks' },
  'webhooks.list': { acting: true, platform: 'webhooks' },
  'webhooks.get': { acting: true, platform: 'webhooks' },
  'webhooks.update': { platform: 'webhooks' },
  'webhooks.delete': { platform: 'webhooks' },
  'webhooks.rotate': { platform: 'webhooks' },
  'webhooks.test': { platform: 'webhooks' },
  'webhooks.deliveries': { acting: true, platform: 'webhooks' },
  'webhooks.delivery': { acting: true, platform: 'webhooks' },
  'webhooks.redeliver': { platform: 'webhooks' },
  'account.get': { acting: true, tokens: 'account' },
  'account.usage': actingOnly,
  'account.changePassword': nobody,
  'account.erase': nobody,
  'account.update': { acting: 'pay' },
  'topups.create': { acting: 'pay', tokens: 'account', pays: true },
  'topups.list': { acting: true, tokens: 'account' },
  'topups.get': { acting: true, tokens: 'account' },
  'topups.removeMethod': { acting: 'pay' },
  'topups.listAll': nobody,
  'transactions.list': actingOnly,
  'keys.create': nobody,
  'keys.get': nobody,
  'keys.list': nobody,
  'keys.revoke': nobody,
  'keys.rotate': nobody,
  'keys.update': nobody,
  'clientTokens.create': actingOnly,
  'clientTokens.list': actingOnly,
  'clientTokens.revoke': actingOnly,
  'login.options': 'public',
  'login.create': 'public',
  // A key could have the permission, but there is no login for it to end.
  'login.end': nobody,
  'logins.list': nobody,
  'logins.end': nobody,
  'logins.endAll': nobody,
  'invitations.create': nobody,
  'invitations.list': nobody,
  'invitations.revoke': nobody,
  'invitations.check': 'public',
  'invitations.requestPasswordReset': 'public',
  'invitations.requestSignUp': 'public',
  'invitations.accept': 'public',
  'users.list': { platform: 'users' },
  'users.get': { platform: 'users' },
  'users.getByExternalId': { platform: 'users' },
  'users.getOrCreate': { platform: 'users' },
  // The scope `limits` allows changes of plans and limits, `users` all others.
  'users.update': { platform: ['users', 'limits'] },
  'users.unblock': nobody,
  'users.erase': { platform: 'users' },
  'users.credit': { platform: 'credit' },
  'users.transactions': nobody,
  'users.findOwner': nobody,
  'users.tasks': nobody,
  'users.task': nobody,
  'users.sessions': nobody,
  'users.createKey': { platform: 'act' },
  'users.listKeys': { platform: 'users' },
  'users.revokeKey': { platform: 'users' },
  'users.listLogins': nobody,
  'users.endLogin': nobody,
  'users.createPasswordLink': nobody,
  'platformKeys.create': nobody,
  'platformKeys.list': nobody,
  'platformKeys.revoke': nobody,
  'platformKeys.get': nobody,
  'platformKeys.revokeToken': nobody,
  'system.get': nobody,
  'audit.list': nobody,
  'mail.get': nobody,
  'mail.sendTest': nobody,
  'economics.get': { platform: 'economics' },
}

const procedures = proceduresOf(describedRouter)
const decided = Object.entries(decisions).filter((entry): entry is [string, Decision] => entry[1] !== 'public')

type Credential = { name: string; key: string; user?: string; may: (decision: Decision) => boolean }

/** Returns an input with only the user's own ids, so that nothing but missing permissions can reject the call. */
function inputOf(operation: string, { sessionId, taskId }: Record<'sessionId' | 'taskId', string>): object {
  if (operation === 'chat.stream') return { sessionId, message: '' }
  if (operation === 'chat.resumeSession') return { sessionId }
  if (operation.startsWith('chat.')) return { turnId: 'turn_nobody' }
  // Has no fields that could be invalid.
  if (operation === 'topups.removeMethod') return {}
  if (operation === 'sessions.delete') return { sessionId: 'ses_nobody' }
  if (operation.startsWith('sessions.') && !/create|list/.test(operation)) return { sessionId }
  if (operation.startsWith('tasks.') && !/create|list/.test(operation)) return { taskId }
  // An invalid input, so that a call with permission fails validation.
  return { limit: 'x', name: 1, userId: 1, scopes: 1, keyId: 1, externalId: 1, days: 'x', agentId: 1, tokenId: 1 }
}

async function isRefused(service: TestService, operation: string, { key, user }: Credential, input: object) {
  const isQuery = (procedures[operation]!._def as { type: string }).type === 'query'
  const json = JSON.stringify({ json: input })
  const path = `/trpc/${operation}`
  const isStream = operation === 'tasks.events' || /^chat\.(?:stream|resume)/.test(operation)
  const headers = {
    ...(user !== undefined && { 'Errand-User': user }),
    ...(isStream && { 'trpc-accept': 'application/jsonl' }),
  }
  const sent = { key, headers }
  const { body, status } = isQuery
    ? await service.request('GET', `${path}?input=${encodeURIComponent(json)}`, sent)
    : await service.request('POST', path, { ...sent, body: json })
  expect(status, `${operation}: ${JSON.stringify(body)}`).toBeLessThan(500)
  return status === 403 || (typeof body === 'string' && body.includes('"FORBIDDEN"'))
}

test('every operation is listed with the credentials it accepts', () => {
  expect(Object.keys(decisions).toSorted()).toEqual(Object.keys(procedures).toSorted())
})

test('exactly the operations marked public need no credential', () => {
  const isPublic = Object.keys(procedures).filter(
    (name) => (procedures[name]!._def.meta as { isPublic?: true }).isPublic,
  )
  const said = Object.keys(decisions).filter((name) => decisions[name] === 'public')
  expect(isPublic.toSorted()).toEqual(said.toSorted())
})

test('each credential can call exactly the operations listed for it', async () => {
  const service = await startService({ config: sessionAgents, limits: { executionsPerMinute: 0, writesPerMinute: 0 } })
  const all = await PlatformCalls.open(service)
  const userId = await all.newUser('customer-1')
  const own = async (path: string, body: object) => (await all.post(path, body, { user: userId })).body
  const { sessionId } = await own('/api/sessions', { agentId: 'one' })
  const { taskId } = await own('/api/tasks', { endpointId: 'mute.run', params: {} })
  const token = async (input: object) => (await own('/api/client-tokens', input)).token as string
  const keys = await Promise.all(
    platformScopes.map(async (scope) => ({ scope, ...(await PlatformCalls.open(service, { scopes: [scope] })) })),
  )
  const credentials: Credential[] = [
    ...keys.map(({ key, scope }) => ({
      name: `a platform key with ${scope}`,
      key,
      may: ({ platform = [] }: Decision) => [platform].flat().includes(scope),
    })),
    ...keys.map(({ key, scope }) => ({
      name: `a platform key with ${scope} that acts`,
      key,
      user: userId,
      may: ({ acting }: Decision) => scope === 'act' && acting === true,
    })),
    ...(await Promise.all(
      (['pay', 'connectors'] as const).map(async (scope) => ({
        name: `a platform key with act and ${scope} that acts`,
        key: (await PlatformCalls.open(service, { scopes: ['act', scope] })).key,
        user: userId,
        may: ({ acting }: Decision) => acting === true || acting === scope,
      })),
    )),
    { name: 'a token of the account', key: await token({}), may: ({ pays, tokens }) => tokens !== undefined && !pays },
    {
      name: 'a token of the account with pay',
      key: await token({ scopes: ['read', 'execute', 'pay'] }),
      may: ({ tokens }) => tokens !== undefined,
    },
    {
      name: 'a token of a session',
      key: await token({ sessionId }),
      may: ({ tokens }) => tokens === 'session',
    },
    { name: 'a token of a task', key: await token({ taskId }), may: ({ tokens }) => tokens === 'task' },
  ]
  const allowed: Record<string, string[]> = {}
  const expected: Record<string, string[]> = {}
  for (const credential of credentials) {
    const { may, name } = credential
    const refusals = await Promise.all(
      decided.map(([operation]) =>
        isRefused(service, operation, credential, inputOf(operation, { sessionId, taskId })),
      ),
    )
    allowed[name] = decided.flatMap(([operation], index) => (refusals[index] ? [] : [operation]))
    expected[name] = decided.flatMap(([operation, decision]) => (may(decision) ? [operation] : []))
  }
  expect(allowed).toEqual(expected)
  await service.stop()
})
