import { scopes } from '../../server/store/access/key-types.ts'
import type { ServerProcess } from '../support/test-process.ts'
import { draftKey } from '../../server/auth/keys/manage-keys.ts'
import { resolveLimits } from '../../server/app/config.ts'
import type { Store } from '../../server/store/store.ts'
import { engine } from '../support/test-engine.ts'

/** Opens the store of a data directory whose server is another process or stopped, and runs `work` on it. */
export async function besideServer<Result>(dataDir: string, work: (store: Store) => Promise<Result>): Promise<Result> {
  const store = await engine().openBeside(dataDir, resolveLimits({ executionsPerMinute: 0 }, {}))
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

/** Creates a user with a key and a balance, by default 1,000 USD. */
export function openAccount(
  dataDir: string,
  email = 'person@example.com',
  amount = 10_000_000,
): Promise<{ userId: string; email: string; key: string }> {
  return besideServer(dataDir, async (store) => {
    const created = await store.createUser({ email, passwordHash: null, isAdmin: false })
    if (created.outcome === 'refused') throw new Error(`${email} exists`)
    const { userId } = created
    if (amount > 0) await store.credit({ userId, amount, description: 'Test balance', idempotencyKey: null })
    const { token, key } = draftKey({ userId, name: 'test', scopes: [...scopes], expiresAt: null })
    await store.createKey(key)
    return { userId, email, key: token }
  })
}

export type ProcessAnswer = { status: number; headers: Headers; body: any }

export class ProcessClient {
  readonly #url: string
  readonly #key: string

  constructor(url: string, key: string) {
    this.#url = url
    this.#key = key
  }

  get(path: string): Promise<ProcessAnswer> {
    return this.#send(path, {})
  }

  createTask(endpointId: string, params: unknown = {}): Promise<ProcessAnswer> {
    return this.#send('/api/tasks', { method: 'POST', body: JSON.stringify({ endpointId, params }) })
  }

  /** Creates a task, which must be accepted, and reads it once it has ended. */
  async runTask(endpointId: string, params: unknown = {}): Promise<any> {
    const created = await this.createTask(endpointId, params)
    if (created.status !== 200) throw new Error(`not accepted: ${created.status} ${JSON.stringify(created.body)}`)
    return (await this.get(`/api/tasks/${created.body.taskId}?wait=20`)).body
  }

  async #send(path: string, request: RequestInit): Promise<ProcessAnswer> {
    const response = await fetch(this.#url + path, {
      ...request,
      headers: { Authorization: `Bearer ${this.#key}`, 'Content-Type': 'application/json' },
    })
    return { status: response.status, headers: response.headers, body: await response.json() }
  }
}

/** Returns the response body. Uses POST if there is a request body, otherwise GET. */
export async function send({ url }: ServerProcess, key: string, path: string, body?: unknown): Promise<any> {
  const response = await fetch(url + path, {
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
  })
  return await response.json()
}
