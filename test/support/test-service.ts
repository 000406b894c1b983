import { type Scope, scopes } from '../../server/store/access/key-types.ts'
import { rmSync } from 'node:fs'
import { must } from '../../server/kernel/assert.ts'
import { startApp, type App } from '../../server/app/app.ts'
import type { ErrandConfig } from '../../server/agents/config/define-config.ts'
import type { SignUpSettings } from '../../server/auth/invitations/sign-up-settings.ts'
import { draftKey } from '../../server/auth/keys/manage-keys.ts'
import { hashPassword } from '../../server/auth/logins/passwords.ts'
import { resolveCommandPath, resolveLimits, type Limits } from '../../server/app/config.ts'
import type { Secrets } from '../../server/kernel/secret-vault.ts'
import type { Clock } from '../../server/kernel/clock.ts'
import type { Logger } from '../../server/kernel/logger.ts'
import type { Brand } from '../../server/http/files/brand.ts'
import { parseUsd } from '../../server/kernel/money.ts'
import type { MailSettings } from '../../server/mails/mail-settings.ts'
import type { PaymentSettings } from '../../server/payments/payment-settings.ts'
import type { PayloadBucket } from '../../server/payloads/payload-bucket.ts'
import testAgents from './test-agents.ts'
import { openResources, temporaryFolder } from './resources.ts'
import { engine } from './test-engine.ts'
import { waitMsMax, within } from './until.ts'

export type Answer = { status: number; headers: Headers; body: any }
export type Person = { userId: string; email: string; key: string }

type NewPerson = { balanceUsd?: string; email?: string; scopes?: Scope[]; password?: string; isAdmin?: boolean }

type RequestOptions = { key?: string | null; body?: unknown; headers?: Record<string, string> }

type TestServiceOptions = {
  config?: ErrandConfig
  /** Configuration file for agents in threads. Default: agents run inline. */
  configFile?: string
  limits?: Partial<Limits>
  /** Private hosts that connectors may reach. */
  privateHosts?: readonly string[]
  secrets?: () => Secrets
  trustedProxies?: readonly string[]
  metricsToken?: string
  clock?: Clock
  /** Default: any free port. */
  port?: number
  /** Public URL. Default: the listening address. */
  baseUrl?: string
  log?: Logger
  /** Where to store payloads. Default: next to the database. */
  payloadBucket?: PayloadBucket
  /** The built console. Default: the checkout's own. */
  consoleFolder?: string
  /** An existing folder, kept for a restart. Default: a new one, removed at the end. */
  dataDir?: string
  /** If omitted, payments are disabled. */
  payments?: PaymentSettings | undefined
  /** If omitted, the service sends no mail. */
  mail?: MailSettings
  /** If omitted, the console shows Errand's name and icon. */
  brand?: Brand
  /** If omitted, sign-up is closed. */
  signUp?: SignUpSettings
  /** A PostgreSQL database shared with another service. Default: the engine's choice. */
  databaseUrl?: string
}

const silent = { debug() {}, info() {}, warn() {}, error() {} }

/** Starts the complete service in this process, on a real database and port. The test that starts it must stop it. */
export async function startService(options: TestServiceOptions = {}): Promise<TestService> {
  const dataDir = options.dataDir ?? preparedDataDir()
  const { clock } = options
  const databaseUrl = options.databaseUrl ?? (await engine().databaseUrl(dataDir))
  const app = await startApp({
    config: options.config ?? testAgents,
    configFile: options.configFile ?? null,
    dataDir,
    databaseUrl,
    payloadBucket: options.payloadBucket,
    payments: options.payments,
    mail: options.mail,
    brand: options.brand,
    signUp: options.signUp,
    listens: { host: '127.0.0.1', port: options.port ?? 0 },
    baseUrl: options.baseUrl ?? null,
    secrets: options.secrets ?? (() => ({ current: 'a secret of the tests only', previous: [] })),
    commandPath: resolveCommandPath(),
    metricsToken: options.metricsToken ?? null,
    trustedProxies: options.trustedProxies ?? [],
    connectorPrivateHosts: options.privateHosts ?? [],
    webhookPrivateHosts: options.privateHosts ?? [],
    // The test runs in the service's thread and blocks it, which would count as overload.
    limits: {
      ...resolveLimits({}, {}),
      agentThreads: 2,
      maxLoopDelayMs: 600_000,
      ...engine().limits,
      ...options.limits,
    },
    log: options.log ?? silent,
    onFatal: (cause) => {
      throw cause
    },
    ...(clock && { createClock: () => clock }),
    ...(options.consoleFolder !== undefined && { consoleFolder: options.consoleFolder }),
  })
  return new TestService(app, dataDir, options.dataDir === undefined)
}

export function newDataDir(): string {
  return temporaryFolder('test')
}

function preparedDataDir(): string {
  const dataDir = newDataDir()
  engine().prepare(dataDir)
  return dataDir
}

let people = 0

export class TestService {
  readonly app: App
  readonly dataDir: string
  readonly #name: string
  readonly #removesData: boolean

  constructor(app: App, dataDir: string, removesData: boolean) {
    this.app = app
    this.dataDir = dataDir
    this.#removesData = removesData
    this.#name = `service on ${app.url}`
    openResources.add(this.#name)
  }

  get url(): string {
    return this.app.url
  }

  async stop(): Promise<void> {
    await within(`${this.#name} stops`, waitMsMax, this.app.stop())
    openResources.delete(this.#name)
    if (!this.#removesData) return
    await engine().remove(this.dataDir)
    rmSync(this.dataDir, { recursive: true, force: true })
  }

  async createPerson({
    balanceUsd = '10.0000',
    email = `person-${++people}@example.com`,
    scopes: own = [...scopes],
    password,
    isAdmin = false,
  }: NewPerson = {}): Promise<Person> {
    const { store } = this.app
    const passwordHash = password === undefined ? null : await hashPassword(password)
    const created = await store.createUser({ email, passwordHash, isAdmin })
    if (created.outcome === 'refused') throw new Error(`${email} exists`)
    const { userId } = created
    const amount = must(parseUsd(balanceUsd), 'a decimal')
    if (amount > 0) await store.credit({ userId, amount, description: 'Test balance', idempotencyKey: null })
    return { userId, email, key: await this.createKey(userId, own) }
  }

  async createKey(userId: string, own: Scope[] = [...scopes], expiresAt: number | null = null): Promise<string> {
    const { token, key } = draftKey({ userId, name: 'test', scopes: own, expiresAt })
    await this.app.store.createKey(key)
    return token
  }

  async request(method: string, path: string, { key, body, headers }: RequestOptions = {}): Promise<Answer> {
    const sent = fetch(this.url + path, {
      method,
      headers: {
        ...(key && { Authorization: `Bearer ${key}` }),
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      redirect: 'manual',
    })
    const response = await within(`the answer to ${method} ${path}`, waitMsMax, sent)
    const text = await within(`the body of the answer to ${method} ${path}`, waitMsMax, response.text())
    const isJson = response.headers.get('content-type')?.startsWith('application/json')
    return { status: response.status, headers: response.headers, body: isJson && text ? JSON.parse(text) : text }
  }

  get(path: string, key?: string | null): Promise<Answer> {
    return this.request('GET', path, { key: key ?? null })
  }

  post(path: string, body: unknown, options: Omit<RequestOptions, 'body'> = {}): Promise<Answer> {
    return this.request('POST', path, { ...options, body })
  }

  createTask(
    key: string,
    endpointId: string,
    params: unknown = {},
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    return this.post('/api/tasks', { endpointId, params }, { key, headers })
  }

  /** Creates a task, which must be accepted, waits for its end and returns it. */
  async runTask(key: string, endpointId: string, params: unknown = {}): Promise<any> {
    const created = await this.createTask(key, endpointId, params)
    if (created.status !== 200) throw new Error(`not accepted: ${created.status} ${JSON.stringify(created.body)}`)
    return (await this.get(`/api/tasks/${created.body.taskId}?wait=20`, key)).body
  }
}
