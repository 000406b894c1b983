import type { Attack } from './hostile-attack.ts'
import type { HostileClient, HostileUser } from './hostile-client.ts'
import { wordySecret } from './hostile-servers.ts'

// Attacks through the attackers' own servers, and with connectors to dead addresses, internal addresses or processes.

/** A connector to an attacker's MCP server, created once per user. */
class Connected {
  readonly #ids = new Map<string, string>()

  async id(client: HostileClient, user: HostileUser, path: string, auth?: object): Promise<string> {
    const known = this.#ids.get(`${user.key} ${path}`)
    if (known !== undefined) return known
    const id = await client.connector(user, { name: path.slice(1), url: client.mcp(path), ...(auth && { auth }) })
    if (id !== undefined) this.#ids.set(`${user.key} ${path}`, id)
    return id ?? 'none'
  }
}

export function lastCalls(): Attack {
  const connected = new Connected()
  return {
    accounts: 3,
    restMs: 1000,
    round: async (client) => {
      const user = client.next()
      const connectorIds = [await connected.id(client, user, '/plain')]
      for (const name of ['drop', 'garbage', 'hang']) {
        const sessionId = await client.session(user, 'use', { connectorIds })
        const message = JSON.stringify([{ name: 'brief' }, { name }])
        // A call times out only after a minute, which would delay the other chats.
        if (sessionId !== undefined) await client.chat(user, { sessionId, message }, { timeoutMs: 3000 })
      }
      const sessionId = await client.session(user, 'model', { connectorIds })
      if (sessionId !== undefined) await client.chat(user, { sessionId, message: 'Please @call-drop' })
    },
  }
}

export function hugeTools(): Attack {
  const connected = new Connected()
  return {
    accounts: 4,
    restMs: 1000,
    round: async (client) => {
      const user = client.next()
      const [definitions, most, plain] = [
        await connected.id(client, user, '/definitions'),
        await connected.id(client, user, '/most-definitions'),
        await connected.id(client, user, '/plain'),
      ]
      const talk = async (agentId: string, message: string, connectorIds: string[]) => {
        const sessionId = await client.session(user, agentId, { connectorIds })
        if (sessionId !== undefined) await client.chat(user, { sessionId, message })
      }
      const big = (times: number) => Array.from({ length: times }, () => ({ name: 'big' }))
      await Promise.all([
        talk('model', 'Hello', [definitions]),
        talk('model', 'Hello', [most]),
        talk('model', 'Please @call-big', [plain]),
        talk('use', JSON.stringify(big(8)), [plain]),
        client.task(user, { endpointId: 'use.call', params: { calls: big(20) }, connectorIds: [plain] }),
        client.task(user, {
          endpointId: 'use.call',
          params: { calls: big(20), atOnce: true },
          connectorIds: [plain, most],
        }),
      ])
    },
  }
}

export function checks(): Attack {
  const connected = new Connected()
  const value = wordySecret.slice(0, 8000).trim()
  const headers = Object.fromEntries(['X-A', 'X-B'].map((name) => [name, value]))
  const auth = { type: 'headers', headers }
  return {
    accounts: 2,
    restMs: 1000,
    round: async (client) => {
      const user = client.next()
      const ids = [
        await connected.id(client, user, '/large', auth),
        await connected.id(client, user, '/stops', auth),
        await connected.id(client, user, '/most-definitions', auth),
      ]
      await client.times(4, async (n) => {
        const path = `/api/connectors/${ids[n % ids.length]}/test`
        const answer = await client.ask({ what: 'check', path, key: user.key, body: {} })
        client.count(`found: ${/"statusMessage":"?([^"]{0,60})/.exec(answer.text)?.[1] ?? answer.status}`)
      })
    },
  }
}

/** Connectors to dead or internal addresses. */
function elsewhere(urls: (n: number) => string, atOnce: number): Attack {
  const connectors: { id: string; key: string }[] = []
  return {
    accounts: 2,
    restMs: 1000,
    prepare: async (client) => {
      for (const user of client.users) {
        for (let n = 0; n < atOnce; n++) {
          const id = await client.connector(user, { name: `at ${n}`, url: urls(n) })
          if (id !== undefined) connectors.push({ id, key: user.key })
        }
      }
    },
    round: async (client) => {
      await Promise.all(
        connectors.map(async ({ id, key }) => {
          const answer = await client.ask({ what: 'check', path: `/api/connectors/${id}/test`, key, body: {} })
          if (answer.status === 200) client.count(`found: ${/"statusMessage":"?([^"]{0,60})/.exec(answer.text)?.[1]}`)
        }),
      )
      const user = client.next()
      const connectorIds = connectors.filter(({ key }) => key === user.key).map(({ id }) => id)
      await client.task(user, { endpointId: 'use.call', params: { calls: [] }, connectorIds })
    },
  }
}

export const deadNames = () => elsewhere((n) => `https://mcp-${n}.dead.example/mcp`, 10)
const insiders = [
  'https://localhost/',
  'https://metadata.google.internal/',
  'https://127.0.0.1:6379/',
  'https://[::1]:5432/',
  'https://169.254.169.254/latest/',
  'https://intranet.corp/',
  'https://0x7f000001/',
  'https://10.0.0.1/',
]
export const internalNames = () => elsewhere((n) => insiders[n % insiders.length]!, insiders.length)

export function processes(): Attack {
  const connectors = new Map<string, string[]>()
  const each = 20
  return {
    accounts: 1,
    restMs: 10_000,
    prepare: async (client) => {
      const [user] = client.users
      const ids = await client.times(client.few(each), (n) =>
        client.connector(user!, {
          name: `process ${n}`,
          server: 'everything',
          auth: { type: 'bearer', token: `token-${n}` },
        }),
      )
      connectors.set(
        user!.key,
        ids.filter((id) => id !== undefined),
      )
    },
    round: async (client) => {
      const [user] = client.users
      const connectorIds = connectors.get(user!.key)!
      await client.times(client.few(4), () =>
        client.task(user!, { endpointId: 'use.call', params: { calls: [] }, connectorIds }),
      )
    },
  }
}

export function stoppedAnswers(): Attack {
  const connected = new Connected()
  return {
    accounts: 3,
    restMs: 1000,
    round: async (client) => {
      const user = client.next()
      const connectorIds = [await connected.id(client, user, '/plain')]
      const stops = { calls: Array.from({ length: 20 }, () => ({ name: 'stop' })), atOnce: true }
      await client.times(3, () => client.task(user, { endpointId: 'use.call', params: stops, connectorIds }))
    },
  }
}
