import { randomUUID } from 'node:crypto'
import type { Attack } from './hostile-attack.ts'

const json = (value: unknown) => Buffer.from(JSON.stringify(value))
const members = (count: number, of = '0') => Array.from({ length: count }, (_, n) => `"k${n}":${of}`).join(',')
const nested = (levels: number, of: string) => `${'{"a":'.repeat(levels)}${of}${'}'.repeat(levels)}`

/** Envelope metadata of a given length. */
const notes: readonly ((chars: number) => string)[] = [
  (chars) => `{"referentialEqualities":{"a":["${'a'.repeat(chars)}\\\\"]},"v":1}`,
  (chars) => `{"values":{"${'a.'.repeat(chars / 2)}":["undefined"]},"v":1}`,
  (chars) => `{"values":${nested(Math.min(90, chars / 6), `{${members(chars / 30, '["undefined"]')}}`)},"v":1}`,
  (chars) => `{"values":${'['.repeat(chars / 2)}${']'.repeat(chars / 2)},"v":1}`,
]
/** JSON values near the body size limit. */
const values: readonly (() => string)[] = [
  () => `[${Array(249_000).fill('0').join(',')}]`,
  () => `{${members(49_000)}}`,
  () => `"${'\\\\'.repeat(4_900_000)}"`,
  () =>
    `[${Array(2700)
      .fill(`${'['.repeat(90)}${']'.repeat(90)}`)
      .join(',')}]`,
]

export function envelopes(): Attack {
  const bodies = values.map((of) => Buffer.from(`{"json":{"endpointId":"test.free","params":{"v":${of()}}}}`))
  let n = 0
  return {
    accounts: 1,
    restMs: 500,
    round: async (client) => {
      const { key, readKey } = client.next()
      const login = '{"email":"x@example.com","password":"x"}'
      const Origin = client.url
      for (const make of notes) {
        for (const batch of ['', '?batch=1']) {
          const wrap = (text: string) => (batch ? `{"0":${text}}` : text)
          const small = wrap(`{"json":${login},"meta":${make(15_000)}}`)
          const stranger = { path: `/trpc/login.create${batch}`, body: small, headers: { Origin } }
          await client.ask({ what: 'stranger', ...stranger })
          const input = `{"json":{"endpointId":"test.free","params":{}},"meta":${make(60_000)}}`
          const most = `{"json":{"endpointId":"test.free","params":{}},"meta":${make(1_000_000)}}`
          for (const one of [input, most]) {
            await client.ask({ what: 'user', path: `/trpc/tasks.create${batch}`, key, body: wrap(one) })
            await client.ask({ what: 'read key', path: `/trpc/tasks.create${batch}`, key: readKey, body: wrap(one) })
          }
        }
        const query = encodeURIComponent(`{"json":{},"meta":${make(3000)}}`)
        await client.ask({ what: 'query', path: `/trpc/account.get?input=${query}`, key: readKey })
      }
      await client.ask({ what: 'values', path: '/trpc/tasks.create', key, body: bodies[n++ % bodies.length]! })
    },
  }
}

export function rows(): Attack {
  const metadata = { text: 'm'.repeat(16_000) }
  return {
    accounts: 2,
    restMs: 100,
    round: async (client) => {
      const user = client.next()
      await client.times(client.few(40), async () => {
        const headers = { 'Idempotency-Key': randomUUID() }
        const body = { agentId: 'talk', metadata }
        await client.ask({ what: 'session', path: '/api/sessions', key: user.key, body, headers })
      })
      await client.times(5, async () => {
        const key = { name: 'n'.repeat(100), scopes: ['read'] }
        const made = await client.ask({ what: 'key', path: '/api/keys', key: user.key, body: key })
        if (made.status === 429) await client.pause(1000)
      })
      const input = JSON.stringify(
        Object.fromEntries(Array.from({ length: 20 }, (_, n) => [n, { json: { agentId: 'talk' } }])),
      )
      const path = `/trpc/${Array(20).fill('sessions.create').join(',')}?batch=1`
      await client.ask({ what: 'batch', path, key: user.key, body: input })
      const lists = `/trpc/${Array(20).fill('sessions.list').join(',')}?batch=1&input=${encodeURIComponent(input.replaceAll('"agentId":"talk"', '"limit":100'))}`
      await client.ask({ what: 'lists', path: lists, key: user.key })
    },
  }
}

const head = (line: string, lines: string[]) => `${line} HTTP/1.1\r\nHost: test\r\n${lines.join('\r\n')}\r\n\r\n`

export function silentBodies(): Attack {
  const body = Buffer.alloc(9_000_000, '{"a":[')
  return {
    accounts: 1,
    restMs: 1000,
    round: async (client) => {
      const { key } = client.next()
      const lines = (length: number) => [
        `Authorization: Bearer ${key}`,
        'Content-Type: application/json',
        `Content-Length: ${length}`,
      ]
      const large = await client.times(client.few(20), () => client.open(head('POST /api/tasks', lines(10_000_000))))
      const strangers = await client.times(client.few(200), () =>
        client.open(
          head('POST /api/login', ['Content-Type: application/json', `Origin: ${client.url}`, 'Content-Length: 16000']),
        ),
      )
      for (const socket of large) if (!socket.destroyed) socket.write(body)
      for (const socket of strangers) if (!socket.destroyed) socket.write('{"email":"'.padEnd(15_000, 'x'))
      for (const line of await Promise.all([...large, ...strangers].map((of) => client.told(of, 15_000))))
        client.count(line)
      for (const socket of [...large, ...strangers]) socket.destroy()
    },
  }
}

export function stalledReaders(): Attack {
  return {
    accounts: 0,
    restMs: 500,
    round: async (client) => {
      const files = ['/docs/swagger-ui-bundle.js', '/docs/swagger-ui.css', '/openapi.json']
      await client.stall(client.few(1500), (n) =>
        head(`GET ${files[n % files.length]}`, n % 2 === 0 ? [] : ['Accept-Encoding: gzip, br']),
      )
    },
  }
}

export function keyedBodies(): Attack {
  const many = Buffer.from(
    `{"endpointId":"no.such","params":{"a":[${Array(5)
      .fill(`{${members(48_000)}}`)
      .join(',')}]}}`,
  )
  const different = Buffer.from(`{"endpointId":"no.such","params":{${members(240_000)}}}`)
  const known = Buffer.from(`{"endpointId":"test.free","params":{${members(49_000)}}}`)
  return {
    accounts: 2,
    restMs: 300,
    round: async (client) => {
      const { key } = client.next()
      for (const body of [many, different, known]) {
        await client.ask({ path: '/api/tasks', key, body, headers: { 'Idempotency-Key': randomUUID() } })
      }
    },
  }
}

export function lists(): Attack {
  const paths = [
    '/api/tasks?limit=100',
    '/api/tasks?limit=100&offset=100000',
    '/api/sessions?limit=100&status=expired',
    '/api/transactions?limit=100',
    '/api/usage?days=90',
    '/api/keys',
    '/api/connectors?limit=100',
    '/api/agents',
  ]
  return {
    accounts: 1,
    restMs: 200,
    round: async (client) => {
      const { key } = client.next()
      await client.times(client.few(200), (n) => client.ask({ path: paths[n % paths.length]!, key }))
    },
  }
}

export function longPolls(): Attack {
  return {
    accounts: 2,
    restMs: 1000,
    round: async (client) => {
      const user = client.next()
      const body = { endpointId: 'test.wait', params: { ms: 4000 } }
      const { taskId } = (await client.json({ what: 'task', path: '/api/tasks', key: user.key, body })) ?? {}
      if (taskId === undefined) return
      const path = `/api/tasks/${taskId}?wait=60`
      await client.times(client.few(3000), () => client.ask({ what: 'poll', path, key: user.key }))
    },
  }
}

export function unseen(): Attack {
  const body = json({ endpointId: 'hidden.echo', params: { text: 'x'.repeat(9_000_000) } })
  return {
    accounts: 1,
    restMs: 300,
    round: async (client) => {
      const { key, readKey } = client.next()
      for (const one of [key, readKey, undefined]) await client.ask({ path: '/api/tasks', key: one, body })
    },
  }
}

export function oddTargets(): Attack {
  const targets = [
    'http://[',
    'http://[::1',
    '//',
    '/%',
    '/%ff%fe',
    '/api/../../x',
    '*',
    'a:b',
    '/api/tasks/%00',
    '/\\',
    '/docs/..%2f..',
    '/trpc/a,b,,c?batch=1',
  ]
  return {
    accounts: 0,
    restMs: 300,
    round: async (client) => {
      for (const target of targets) {
        for (const method of ['GET', 'POST', 'OPTIONS', 'CONNECT', 'TRACE']) {
          const socket = await client.open(head(`${method} ${target}`, []))
          client.count(await client.told(socket, 3000))
          socket.destroy()
        }
      }
    },
  }
}

export function slowSenders(): Attack {
  return {
    accounts: 1,
    restMs: 500,
    round: async (client) => {
      const { key } = client.next()
      const sockets = await client.times(client.few(300), (n) =>
        client.open(
          n % 2 === 0
            ? 'POST /api/tasks HTTP/1.1\r\nHost: test\r\nX-'
            : head('POST /api/tasks', [
                `Authorization: Bearer ${key}`,
                'Content-Type: application/json',
                'Content-Length: 60000',
              ]),
        ),
      )
      for (let n = 0; n < 5 && !client.signal.aborted; n++) {
        for (const socket of sockets) if (socket.writable) socket.write('x')
        await client.pause(1000)
      }
      if (!client.signal.aborted) client.count('closed by the service', sockets.filter((of) => of.destroyed).length)
      client.count('open', sockets.filter((of) => !of.destroyed).length)
      for (const socket of sockets) socket.destroy()
    },
  }
}

export function logins(): Attack {
  return {
    accounts: 0,
    restMs: 1000,
    round: async (client) => {
      await client.times(client.few(20), async (n) => {
        const body = {
          email: n % 2 === 0 ? `${randomUUID()}@example.com` : 'honest0@example.com',
          password: 'p'.repeat(1000),
        }
        await client.ask({ path: '/api/login', body, headers: { Origin: client.url } })
      })
    },
  }
}
