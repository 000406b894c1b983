import type { Attack } from './hostile-attack.ts'
import type { HostileClient, HostileUser } from './hostile-client.ts'

/** Fills sessions with messages of the maximum size and reads them in batches and pages. */
export function largeMessages(): Attack {
  const sessions: { sessionId: string; key: string }[] = []
  const grow = async (client: HostileClient, user: HostileUser) => {
    const sessionId = await client.session(user, 'talk')
    if (sessionId === undefined) return
    const results = (n: number) => [
      { do: 'call', id: `c${n}`, arguments: {} },
      { do: 'result', id: `c${n}`, output: { text: 'r'.repeat(16_000) } },
    ]
    const steps = [
      { do: 'flood', times: 490, delta: 'x'.repeat(2000) },
      ...Array.from({ length: 12 }, (_, n) => results(n)),
    ]
    await client.chat(user, { sessionId, message: JSON.stringify(steps.flat()) })
    await client.chat(user, { sessionId, message: 'y'.repeat(980_000) })
    sessions.push({ sessionId, key: user.key })
  }
  return {
    accounts: 2,
    restMs: 300,
    prepare: async (client) => {
      await client.times(client.few(4), () => grow(client, client.next()))
    },
    round: async (client) => {
      if (sessions.length < 40 && Math.random() < 0.1) await grow(client, client.next())
      const { key, sessionId } = sessions[Math.floor(Math.random() * sessions.length)] ?? {}
      if (key === undefined) return
      const input = JSON.stringify(
        Object.fromEntries(Array.from({ length: 20 }, (_, n) => [n, { json: { sessionId, limit: 100 } }])),
      )
      const path = `/trpc/${Array(20).fill('sessions.messages').join(',')}?batch=1&input=${encodeURIComponent(input)}`
      await client.times(4, () => client.ask({ what: 'batch', path, key }))
      await client.times(4, () =>
        client.ask({ what: 'page', path: `/api/sessions/${sessionId}/messages?limit=100`, key }),
      )
    },
  }
}

/** Requests one user's largest page with many clients that read none of it. */
export function stalledPages(): Attack {
  let sessionId: string | undefined
  return {
    accounts: 1,
    restMs: 1000,
    prepare: async (client) => {
      const [user] = client.users
      sessionId = await client.session(user!, 'talk')
      const message = JSON.stringify([{ do: 'flood', times: 490, delta: 'x'.repeat(2000) }])
      if (sessionId !== undefined) await client.chat(user!, { sessionId, message })
    },
    round: async (client) => {
      const [user] = client.users
      const head = `GET /api/sessions/${sessionId}/messages HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer ${user!.key}\r\n\r\n`
      await client.stall(client.few(500), () => head)
    },
  }
}

export function leavers(): Attack {
  return {
    accounts: 3,
    restMs: 500,
    round: async (client) => {
      const user = client.next()
      await client.times(3, async (n) => {
        const sessionId = await client.session(user, n === 0 ? 'model' : 'thinker')
        if (sessionId === undefined) return
        // Hidden reasoning produces no lines, so a client that waits for it leaves after a timeout instead.
        const leaving = n === 0 ? { timeoutMs: 1500 } : { leaveAt: 'reasoning_delta' }
        await client.chat(user, { sessionId, message: '@think' }, leaving)
      })
    },
  }
}

const dense = [
  '9081726354'.repeat(24_000),
  '漢字仮名交文'.repeat(13_000),
  Buffer.alloc(180_000, 'Zk3+').toString('base64'),
]

export function smallBalances(): Attack {
  let n = 0
  return {
    accounts: 2,
    balance: 3_0000,
    restMs: 3000,
    round: async (client) => {
      const user = client.next()
      const message = dense[n++ % dense.length]!
      await client.times(10, async () => {
        const sessionId = await client.session(user, 'model')
        if (sessionId !== undefined) await client.chat(user, { sessionId, message })
      })
    },
  }
}

export function chatsBeyondBalance(): Attack {
  const sessions: string[] = []
  return {
    accounts: 1,
    balance: 2_0000,
    restMs: 2000,
    prepare: async (client) => {
      const [user] = client.users
      await client.times(client.few(500), async () => {
        const sessionId = await client.session(user!, 'model')
        if (sessionId !== undefined) sessions.push(sessionId)
      })
    },
    round: async (client) => {
      const [user] = client.users
      const message = `@slow ${'7'.repeat(1_400_000 / 10)}`
      await Promise.all(sessions.map((sessionId) => client.chat(user!, { sessionId, message }, { timeoutMs: 20_000 })))
    },
  }
}

export function floods(): Attack {
  return {
    accounts: 3,
    restMs: 1000,
    round: async (client) => {
      const user = client.next()
      const sessionId = await client.session(user, 'remote')
      await Promise.all([
        client.task(user, { endpointId: 'remote.flood', params: {} }),
        sessionId === undefined ? undefined : client.chat(user, { sessionId, message: 'Flood.' }, { timeoutMs: 5000 }),
      ])
    },
  }
}
