import { join } from 'node:path'
import { expect } from 'vitest'
import { must } from '../../server/kernel/assert.ts'
import type { Limits } from '../../server/app/config.ts'
import { Browser, password } from '../api/browser-login.ts'
import { expectStatus, signUpAdmin } from '../api/signed-in.ts'
import type { StubMcpServer } from '../api/stub-mcp-server.ts'
import { unreachableMail } from '../mails/mail-catcher.ts'
import { say } from '../support/chat-agents.ts'
import { ChatReader } from '../support/chat-reader.ts'
import { startProcess } from '../support/test-process.ts'
import { startService, type Person, type TestService } from '../support/test-service.ts'

// A SQLite installation with data of every kind, created by its users. Its server was killed.

export const secret = 'the secret of the moved installation'
export const secrets = () => ({ current: secret, previous: [] })
export const limits: Partial<Limits> = { executionsPerMinute: 40, abuseFailures: 3, leaseSeconds: 1 }
const environment = {
  ERRAND_SECRET: secret,
  ERRAND_EXECUTIONS_PER_MINUTE: '40',
  ERRAND_ABUSE_FAILURES: '3',
  ERRAND_TASK_CONCURRENCY: '2',
}

/** Too large for a row, with a first character that PostgreSQL cannot store. */
export const longText = `\0\uffff${'née '.repeat(6000)}`

export type Filled = {
  rich: Person
  blocked: Person
  /** The person whose work was interrupted. */
  busy: Person
  browser: Browser
  cookies: Map<string, string>
  invitation: string
  connectorId: string
  /** A connector with tokens from a sign-in. */
  signedInId: string
  webhookId: string
  sessionId: string
  keyed: { taskId: string; body: object }
  /** Path and query of a signed link, and its content. */
  link: { path: string; content: string }
  /** Tasks of `busy`: running, running with retries, and queued in order. */
  cutOff: { processing: string; retried: string; pending: string[]; sessionId: string }
}

export const keyedHeaders = { 'Idempotency-Key': 'key-of-one-task' }

export async function fill(
  dataDir: string,
  mcp: StubMcpServer,
): Promise<{ filled: Filled; seen: Map<string, unknown> }> {
  const service = await startService({ dataDir, secrets, limits, mail: unreachableMail, privateHosts: ['127.0.0.1'] })
  const admin = await signUpAdmin(service, { email: 'admin@example.com' })
  const rich = await service.createPerson({ email: 'rich@example.com', balanceUsd: '50.0000', password })
  const blocked = await service.createPerson({ email: 'blocked@example.com' })
  const busy = await service.createPerson({ email: 'busy@example.com', balanceUsd: '5.0000' })
  const { key } = rich
  // Nothing listens at this URL, so its deliveries stay queued.
  const { id: webhookId } = await expectStatus(
    200,
    service.post('/api/webhooks', { url: 'http://127.0.0.1:9/', types: ['task.failed'] }, { key }),
  )
  for (let n = 0; n < 5; n++) await service.runTask(key, 'test.echo', { n, text: 'näive \\ "quoted" {1,2} NULL' })
  await service.runTask(key, 'test.fail', { message: 'with \0 and \uffff in it' })
  const large = await service.runTask(key, 'test.echo', { text: 'x'.repeat(20_000) })
  await service.runTask(key, 'test.value', { value: longText })
  const body = { endpointId: 'test.echo', params: { keyed: true } }
  const keyed = await expectStatus(200, service.post('/api/tasks', body, { key, headers: keyedHeaders }))
  await service.get(`/api/tasks/${keyed.taskId}?wait=20`, key)
  for (let n = 0; n < 3; n++) await service.runTask(blocked.key, 'test.fail')

  const sessionId = await openSession(service, key)
  await chat(service, { key, sessionId, message: 'Hello \0 there' })
  const usage = { do: 'usage', promptTokens: 120, completionTokens: 30 } as const
  const call = { do: 'call', id: 'c1', arguments: { at: 1 } } as const
  await chat(service, { key, sessionId, message: say(call, { do: 'result', id: 'c1', output: { ok: true } }, usage) })

  const auth = { type: 'bearer', token: 'token-of-rich' }
  const connector = await expectStatus(
    200,
    service.post('/api/connectors', { name: 'Mine', url: mcp.url, auth }, { key }),
  )
  await expectStatus(200, service.post(`/api/connectors/${connector.id}/test`, {}, { key }))
  const signedInId = await keepGrant(service, rich)
  const browser = await Browser.loggedIn(service, { email: rich.email, password })
  await new Browser(service).logIn({ email: rich.email, password: 'not the password' })
  const invited = { email: 'invited@example.com', creditUsd: '2.5' }
  const invitation = await expectStatus(200, admin.browser.post('/api/invitations', invited))
  const seen = await look(service, { rich, blocked })
  const link = new URL(large.responseUri)
  const path = link.pathname + link.search
  const content = JSON.stringify((await service.get(path)).body)
  await service.stop()
  return {
    seen,
    filled: {
      rich,
      blocked,
      busy,
      browser,
      cookies: browser.cookies,
      invitation: invitation.url.split('#')[1],
      connectorId: connector.id,
      signedInId,
      webhookId,
      sessionId,
      keyed: { taskId: keyed.taskId, body },
      link: { path, content },
      cutOff: await cutOff(dataDir, busy),
    },
  }
}

async function keepGrant(service: TestService, { key, userId }: Person): Promise<string> {
  const connector = { name: 'Signed in', url: 'https://mcp.example.com/', auth: { type: 'oauth' } }
  const { id: connectorId } = await expectStatus(200, service.post('/api/connectors', connector, { key }))
  const of = { userId, connectorId }
  const { store, tokens } = service.app.services.connectors.signIns
  const issuer = 'https://auth.example.com'
  const server = { issuer, authorization_endpoint: `${issuer}/auth`, token_endpoint: `${issuer}/token` }
  const client = { clientId: 'errand', method: 'none', isOwn: true, redirectUri: service.url } as const
  const kept = { server, client, resource: connector.url, tokens: { accessToken: 'the-access-token' } }
  const { updatedAt: ifUpdatedAt } = must(await store.getConnector(of), 'a connector')
  await store.grants.keep({ ...of, issuer, sealed: tokens.seal(of, kept), expiresInMs: null, ifUpdatedAt })
  return connectorId
}

/** Kills the process with tasks and a chat in progress, and with queued tasks. */
async function cutOff(dataDir: string, { key }: Person): Promise<Filled['cutOff']> {
  const service = await startProcess({ dataDir, env: environment })
  const post = async (path: string, body: object): Promise<any> => {
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' }
    const answer = await fetch(service.url + path, { method: 'POST', headers, body: JSON.stringify(body) })
    expect(answer.status).toBe(200)
    return await answer.json()
  }
  const create = async (endpointId: string, params: object): Promise<string> =>
    (await post('/api/tasks', { endpointId, params })).taskId
  const { sessionId } = await post('/api/sessions', { agentId: 'talk' })
  const at = join(dataDir, 'at-work')
  const message = say({ do: 'text', delta: 'Begun.' }, { do: 'touch', file: at }, { do: 'await-abort' })
  const reader = await ChatReader.open({ url: service.url, key, body: { sessionId, message } })
  await expect.poll(() => reader.text, { timeout: 20_000 }).toContain('Begun.')
  const processing = await create('test.block', { ms: 50_000 })
  const retried = await create('test.retried', { ms: 6000 })
  const pending: string[] = []
  for (let n = 0; n < 4; n++) pending.push(await create('test.echo', { n }))
  const states = async () => {
    const headers = { Authorization: `Bearer ${key}` }
    const { tasks } = (await (await fetch(`${service.url}/api/tasks`, { headers })).json()) as { tasks: any[] }
    return tasks.filter(({ status }) => status === 'processing').map(({ id }) => id as string)
  }
  await expect.poll(states, { timeout: 20_000 }).toEqual([retried, processing])
  await service.end('SIGKILL')
  return { processing, retried, pending, sessionId }
}

export async function openSession(service: TestService, key: string): Promise<string> {
  return (await expectStatus(200, service.post('/api/sessions', { agentId: 'talk', metadata: { a: [1] } }, { key })))
    .sessionId
}

export async function chat(
  service: TestService,
  { key, ...body }: { key: string; sessionId: string; message: string },
): Promise<string> {
  const answer = await service.post('/api/chat', body, { key })
  expect(answer.status).toBe(200)
  return String(answer.body)
}

/** Returns the users' view of everything that has ended, without time-dependent fields. */
export async function look(
  service: TestService,
  { blocked, rich }: Pick<Filled, 'rich' | 'blocked'>,
): Promise<Map<string, unknown>> {
  const seen = new Map<string, unknown>()
  const read = async (path: string, key: string) => {
    const response = await fetch(service.url + path, { headers: { Authorization: `Bearer ${key}` } })
    const text = (await response.text())
      .replaceAll(service.url, 'http://errand')
      .replaceAll(/\?expires=\d+&signature=[\w-]+/g, '')
      .replaceAll(/"lastUsedAt":("[^"]*"|null)/g, '"lastUsedAt":0')
      .replaceAll(/,"rateLimit":\{[^}]*\}/g, '')
    seen.set(`${path} ${key}`, `${response.status} ${text}`)
    return JSON.parse(text)
  }
  for (const { key } of [rich, blocked]) {
    const lists = ['tasks?limit=3', 'tasks?limit=100&offset=2', 'tasks?status=failed', 'tasks?agentId=test']
    const more = ['transactions', 'transactions?type=chat_charge', 'sessions', 'keys', 'connectors', 'account']
    for (const path of [...lists, ...more]) await read(`/api/${path}`, key)
    for (const { id } of (await read('/api/tasks', key)).tasks) await read(`/api/tasks/${id}`, key)
    for (const { id, sessionId = id } of (await read('/api/sessions', key)).sessions) {
      await read(`/api/sessions/${sessionId}`, key)
      await read(`/api/sessions/${sessionId}/messages`, key)
    }
  }
  return seen
}
