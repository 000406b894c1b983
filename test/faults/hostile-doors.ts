import type { Attack } from './hostile-attack.ts'

// Attacks on shared resources: admission, rows, and memory for bodies, files, events and results.

const kilobyte = 1024
const megabyte = kilobyte * kilobyte

/** Sends response formats of maximum size from an account that cannot pay for them. */
export function largeFormats(): Attack {
  const properties = Object.fromEntries(Array.from({ length: 1200 }, (_, n) => [`property-${n}`, { type: 'string' }]))
  const schema = { type: 'object', properties }
  const body = {
    model: 'model',
    messages: [{ role: 'user', content: 'Hello' }],
    response_format: { type: 'json_schema', json_schema: { name: 'large', schema } },
  }
  return {
    accounts: 1,
    balance: 2,
    restMs: 300,
    round: async (client) => {
      await client.ask({ path: '/v1/chat/completions', key: client.next().key, body })
    },
  }
}

/** Creates client tokens that expire almost immediately but leave rows. */
export function deadTokens(): Attack {
  const body = { scopes: ['read'], expiresInSeconds: 1 }
  return {
    accounts: 2,
    restMs: 200,
    round: async (client) => {
      const { key } = client.next()
      await client.times(client.few(50), () => client.ask({ path: '/api/client-tokens', key, body }))
    },
  }
}

/** Slowly sends large bodies from two accounts with almost no balance. */
export function slowBodies(): Attack {
  const piece = Buffer.alloc(64 * kilobyte, ' ')
  return {
    accounts: 2,
    balance: 2,
    restMs: 1000,
    round: async (client) => {
      const sockets = await client.times(client.few(40), () =>
        client.open(
          `POST /api/tasks HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer ${client.next().key}\r\nContent-Type: application/json\r\nContent-Length: ${10 * megabyte - 1}\r\n\r\n`,
        ),
      )
      const told = Promise.all(sockets.map((socket) => client.told(socket, 15_000)))
      for (let n = 0; n < 30 && !client.signal.aborted; n++) {
        for (const socket of sockets) if (!socket.destroyed) socket.write(piece)
        await client.pause(500)
      }
      for (const line of await told) client.count(line)
      for (const socket of sockets) socket.destroy()
    },
  }
}

const fileText = Buffer.alloc(3 * megabyte, 'All that there is. ').toString('base64')
const file = { type: 'file', mediaType: 'text/plain', data: fileText }

export function hangingFiles(): Attack {
  return {
    accounts: 2,
    restMs: 1000,
    round: async (client) => {
      const user = client.next()
      const sessionId = await client.session(user, 'hangs')
      if (sessionId === undefined) return
      const body = { sessionId, message: [{ type: 'text', text: 'Hang' }, file, file] }
      const { status } = await client.send({ path: '/api/chat', key: user.key, body, timeoutMs: 10_000 })
      client.count(`chat with files: ${status}`)
    },
  }
}

export function fileQuotes(): Attack {
  let message: object[] | undefined
  let sessionId: string | undefined
  return {
    accounts: 1,
    restMs: 100,
    prepare: async (client) => {
      const [user] = client.users
      sessionId = await client.session(user!, 'hangs')
      const body = { sessionId, message: [{ type: 'text', text: 'Look' }, file] }
      await client.send({ path: '/api/chat', key: user!.key, body })
      const path = `/api/sessions/${sessionId}/messages`
      const { text } = await client.send({ path, key: user!.key })
      const payloadId = /"payloadId":"(\w+)"/.exec(text)?.[1]
      if (payloadId !== undefined) message = Array.from({ length: 4 }, () => ({ type: 'file', payloadId }))
    },
    round: async (client) => {
      const [user] = client.users
      const body = { chat: { sessionId, message } }
      await client.times(client.few(40), () => client.ask({ what: 'quote', path: '/api/quotes', key: user!.key, body }))
    },
  }
}

/** Starts long, free replies that continue without a reader. */
export function detachedFloods(): Attack {
  const message = JSON.stringify([{ do: 'flood', times: 44_000, delta: 'flood '.repeat(13) }])
  return {
    accounts: 1,
    restMs: 2000,
    round: async (client) => {
      const user = client.next()
      await client.times(10, async () => {
        const sessionId = await client.session(user, 'free')
        if (sessionId === undefined) return
        const body = { sessionId, message, onDisconnect: 'continue' }
        await client.ask({ what: 'detached', path: '/api/chat', key: user.key, body, leaveAt: 'assistant_delta' })
      })
    },
  }
}

export function largeResults(): Attack {
  const body = { endpointId: 'test.large', params: { chars: 9 * megabyte } }
  return {
    accounts: 1,
    restMs: 1000,
    round: async (client) => {
      await client.times(3, () => client.task(client.next(), body))
    },
  }
}

/** Creates OpenAI responses, each with a session of its own, and follows one task with many clients. */
export function responses(): Attack {
  return {
    accounts: 2,
    restMs: 300,
    round: async (client) => {
      const user = client.next()
      const body = { model: 'free', input: 'Hello' }
      await client.times(10, () => client.ask({ what: 'response', path: '/v1/responses', key: user.key, body }))
      const task = { endpointId: 'test.wait', params: { ms: 2000 } }
      const made = await client.json({ what: 'task', path: '/api/tasks', key: user.key, body: task })
      if (made === undefined) return
      const path = `/api/tasks/${made.taskId}/events`
      await client.times(client.few(150), () => client.ask({ what: 'follower', path, key: user.key }))
    },
  }
}
