import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { App } from '../app.ts'
import { draftKey } from '../auth/manage-keys.ts'
import { hashPassword } from '../auth/passwords.ts'
import { resolveDataDir, type ServeOptions } from '../config.ts'
import { unitsPerUsd } from '../kernel/money.ts'
import { scopes } from '../store/records.ts'
import type { Store } from '../store/store.ts'
import { serve } from './serve.ts'

type Demo = { email: string; password: string; key: string }

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

/** The demo user, made on the first start and kept on every later one. */
async function openDemo(store: Store, file: string): Promise<Demo> {
  const known = await readFile(file, 'utf8').catch(() => undefined)
  if (known !== undefined) return JSON.parse(known) as Demo
  const password = randomBytes(9).toString('base64url')
  const found = await store.findUser(email)
  const userId = found?.id ?? (await createDemoUser(store, password))
  await store.credit({
    userId,
    amount: creditUsd * unitsPerUsd,
    description: 'Demo balance',
    idempotencyKey: 'demo',
  })
  const { token, key } = draftKey({ userId, name: 'Demo', scopes: [...scopes], expiresAt: null })
  await store.createKey(key)
  const demo = { email, password, key: token }
  await writeFile(file, JSON.stringify(demo), { mode: 0o600 })
  return demo
}

async function createDemoUser(store: Store, password: string): Promise<string> {
  const created = await store.createUser({ email, passwordHash: await hashPassword(password), isAdmin: true })
  if (created.outcome === 'refused') throw new Error('The demo user could not be created.')
  return created.userId
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
  Log in as       ${login} with the password ${password}
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
