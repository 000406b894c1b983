import { scopes } from '../store/access/key-types.ts'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { dirname, extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { draftKey } from '../auth/keys/manage-keys.ts'
import { hashToken } from '../auth/keys/api-token.ts'
import { hashPassword, isPassword } from '../auth/logins/passwords.ts'
import { resolveDataDir, resolveServe, type ServeOptions } from '../app/config.ts'
import { makeFolder } from '../kernel/make-folder.ts'
import { unitsPerUsd } from '../kernel/money.ts'
import { variables } from '../kernel/settings.ts'
import type { Store } from '../store/store.ts'
import { serve } from './serve.ts'
import { watchProject } from './watch-project.ts'
import { welcome, type Demo } from './welcome.ts'

const email = 'demo@example.com'
const creditUsd = 25
/** The extension is `.ts` in the repository and `.js` in the package. */
const quickstart = fileURLToPath(
  new URL(`../../examples/quickstart/errand.config${extname(import.meta.url)}`, import.meta.url),
)

/**
 * Serves the agents in the current folder, or the quickstart if it has none, and prints example commands. Stores the
 * demo user's login and key in the data directory.
 */
export async function serveDemo(options: ServeOptions & { json?: boolean }): Promise<void> {
  const file = join(resolveDataDir(options.data), 'demo.json')
  const own = variables.ERRAND_CONFIG.default
  const defaultConfig = existsSync(own) ? own : quickstart
  await serve({ ...options, defaultConfig }, async (app) => {
    const demo = await openDemo(app.store, file)
    watchProject(() => app.reload())
    if (options.json) return JSON.stringify({ url: app.url, ...demo })
    const { configFile } = resolveServe({ ...options, defaultConfig })
    return welcome(app, { demo, configFile, isQuickstart: configFile === quickstart })
  })
}

/** Creates the demo user on the first start. Omits credentials that no longer work. */
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
  // A user who has changed the password knows the new one. If the file is missing, the generated password is lost, so
  // set a new one.
  const password = isKnown ? known.password : known ? undefined : await setNewPassword(store, { userId, passwordHash })
  const key = known && (await isLive(store, known.key)) ? known.key : await createDemoKey(store, userId)
  const demo: Demo = { email, key, ...(password !== undefined && { password }) }
  if (JSON.stringify(demo) !== JSON.stringify(known)) {
    // With PostgreSQL, the folder may not exist yet.
    makeFolder(dirname(file))
    await writeFile(file, JSON.stringify(demo), { mode: 0o600 })
  }
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
  if (created.outcome === 'refused') throw new Error('Could not create the demo user. Run `errand doctor`.')
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
