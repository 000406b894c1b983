import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { App } from '../app.ts'
import { draftKey } from '../auth/keys/manage-keys.ts'
import { hashToken } from '../auth/keys/api-token.ts'
import { hashPassword, isPassword } from '../auth/logins/passwords.ts'
import { resolveDataDir, type ServeOptions } from '../config.ts'
import { unitsPerUsd } from '../kernel/money.ts'
import { scopes } from '../store/records.ts'
import type { Store } from '../store/store.ts'
import { serve } from './serve.ts'

/** Without a password once the demo user has another one than was made. */
type Demo = { email: string; key: string; password?: string }

const email = 'demo@example.com'
const creditUsd = 25
const quickstart = fileURLToPath(new URL('../../examples/quickstart/', import.meta.url))

/** Serves the quickstart with a demo user whose login and key are kept in the data directory, and says what to try. */
export async function serveDemo(options: ServeOptions): Promise<void> {
  const file = join(resolveDataDir(options.data), 'demo.json')
  await serve({ ...options, defaultConfig: join(quickstart, 'errand.config.ts') }, async (app) => {
    const demo = await openDemo(app.store, file)
    process.stdout.write(welcome(app, demo))
  })
}

/** The demo user, made on the first start and kept on every later one. What no longer opens the account is not shown. */
async function openDemo(store: Store, file: string): Promise<Demo> {
  const known = await readDemo(file)
  const userId = (await store.findUser(email))?.id ?? (await createDemoUser(store))
  await store.credit({
    userId,
    amount: creditUsd * unitsPerUsd,
    description: 'Demo balance',
    idempotencyKey: 'demo',
  })
  const { passwordHash = null } = (await store.getUser(userId)) ?? {}
  const isKnown = known?.password !== undefined && (await isPassword(known.password, passwordHash))
  // Somebody who has set a password of their own knows it; without the file nobody knows the one that was made.
  const password = isKnown ? known.password : known ? undefined : await setNewPassword(store, { userId, passwordHash })
  const key = known && (await isLive(store, known.key)) ? known.key : await createDemoKey(store, userId)
  const demo: Demo = { email, key, ...(password !== undefined && { password }) }
  if (JSON.stringify(demo) !== JSON.stringify(known)) await writeFile(file, JSON.stringify(demo), { mode: 0o600 })
  return demo
}

async function readDemo(file: string): Promise<Demo | undefined> {
  try {
    const { email: ofFile, key, password } = JSON.parse(await readFile(file, 'utf8')) as Partial<Demo>
    if (ofFile !== email || typeof key !== 'string') return undefined
    return { email, key, ...(typeof password === 'string' && { password }) }
  } catch {
    return undefined
  }
}

async function createDemoUser(store: Store): Promise<string> {
  const created = await store.createUser({ email, passwordHash: null, isAdmin: true })
  if (created.outcome === 'refused') throw new Error('The demo user could not be created.')
  return created.userId
}

type OfUser = { userId: string; passwordHash: string | null }

async function setNewPassword(store: Store, { passwordHash: from, userId }: OfUser): Promise<string> {
  const password = randomBytes(9).toString('base64url')
  await store.setPassword({ userId, passwordHash: await hashPassword(password), from, keepLoginId: null })
  return password
}

async function isLive(store: Store, key: string): Promise<boolean> {
  const holder = await store.findKey(hashToken(key))
  return holder !== undefined && holder.revokedAt === null && (holder.expiresAt ?? Infinity) > Date.now()
}

async function createDemoKey(store: Store, userId: string): Promise<string> {
  const { token, key } = draftKey({ userId, name: 'Demo', scopes: [...scopes], expiresAt: null })
  await store.createKey(key)
  return token
}

const noModel =
  'none: set OPENAI_API_KEY, ANTHROPIC_API_KEY, or ERRAND_MODEL_BASE_URL and ERRAND_MODEL_NAME (Ollama, vLLM …), and start again'

function welcome({ services, url }: App, { email: login, key, password }: Demo): string {
  const text = 'Errand runs agents. Each task is charged when it is created. A task that fails is refunded in full.'
  const body = JSON.stringify({ endpointId: 'text.summarize', params: { text, sentences: 1 } })
  const message = 'city,amount\nBerlin,10.50\nParis,4.25\nBerlin,2.25\n\nWhat is the total amount by city?'
  const chat = JSON.stringify({ sessionId: 'SESSION_ID', message })
  const header = `-H 'Authorization: Bearer ${key}'`
  return `
Errand is running at ${url}

  Console         ${url}
  Log in as       ${login} with ${password === undefined ? 'the password that you set' : `the password ${password}`}
  API key         ${key}
  API reference   ${url}/docs
  Agents          ${relative(process.cwd(), quickstart) || '.'}/errand.config.ts
  Language model  ${services.catalogue.agent('model') ? 'the agent "model"; its endpoint is model.draft' : noModel}

Create a task, then read it by putting the taskId of the answer for TASK_ID:

  curl -s ${url}/api/tasks ${header} -H 'Content-Type: application/json' -d '${body}'

  curl -s '${url}/api/tasks/TASK_ID?wait=30' ${header}

Open a session, then chat in it by putting the sessionId of the answer for SESSION_ID:

  curl -s ${url}/api/sessions ${header} -H 'Content-Type: application/json' -d '{"agentId":"assistant"}'

  curl -sN ${url}/api/chat ${header} -H 'Content-Type: application/json' -d '${chat}'
`
}
