import { Agent, request, type IncomingMessage } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { startProvider } from './hostile-provider.ts'

// Honest users of the hostile run, in a forked process with an IPC channel. It reports its provider's URL and receives
// one `HonestOrder`. It runs until told to stop, and returns one `HonestOutcome`. Requests are sent on schedule,
// whether or not earlier ones are answered, and their latency counts from the scheduled time.

export type HonestOrder = { url: string; keys: string[] }

export type HonestKind = 'submit' | 'read' | 'poll' | 'list' | 'session' | 'chat' | 'reply' | 'messages' | 'balance'
/** An answered request, with its scheduled time (Unix milliseconds) and its latency. */
export type HonestAnswer = { kind: HonestKind; at: number; ms: number; status: number }
export type HonestOutcome = {
  answers: HonestAnswer[]
  /** The longest delay caused by this process itself. */
  lateMsMax: number
  taskIds: [taskId: string, user: number][]
  charged: [sessionId: string, costUsd: string][]
  /** Number of chats that ended before their charge was stored. */
  settledLate: number
  /** Responses that an honest user does not expect. */
  wrong: string[]
}

const cycleMs = 15_000
const lookMs = 2000
const waitSeconds = 20
const hungMs = 60_000
const agent = new Agent({ keepAlive: true })

type Sent = { key: string; method: string; path: string; body?: object }
type Told = { status: number; text: string; headMs: number; ms: number }

class HonestUsers {
  readonly #order: HonestOrder
  readonly outcome: HonestOutcome = { answers: [], lateMsMax: 0, taskIds: [], charged: [], settledLate: 0, wrong: [] }
  readonly #open = new Set<Promise<void>>()
  #isOver = false

  constructor(order: HonestOrder) {
    this.#order = order
  }

  async run(): Promise<void> {
    const { keys } = this.#order
    const startedAt = Date.now()
    const every = (ms: number, offsetMs: number, work: (dueAt: number) => Promise<void>) =>
      this.#every(startedAt + offsetMs, ms, work)
    await Promise.all(
      keys.flatMap((key, n) => {
        const offset = (n * lookMs) / keys.length
        const sessions: string[] = []
        let isTalking = false
        return [
          every(cycleMs, offset, (dueAt) => this.#submit(n, dueAt)),
          every(cycleMs, offset + 500, async (dueAt) => {
            const body = { agentId: 'honest' }
            const made = await this.#ask('session', dueAt, { key, method: 'POST', path: '/api/sessions', body })
            if (made?.status === 200) sessions.push((JSON.parse(made.text) as { sessionId: string }).sessionId)
          }),
          every(cycleMs, offset + 1500, async (dueAt) => {
            if (isTalking) return
            isTalking = true
            await this.#chat(key, sessions.at(-1), dueAt).finally(() => (isTalking = false))
          }),
          every(lookMs, offset, (dueAt) => this.#get('list', key, { dueAt, path: '/api/tasks?limit=50' })),
          every(lookMs, offset + 700, (dueAt) => this.#get('balance', key, { dueAt, path: '/api/account' })),
          every(lookMs, offset + 1300, async (dueAt) => {
            const sessionId = sessions.at(-1)
            if (sessionId !== undefined) {
              await this.#get('messages', key, { dueAt, path: `/api/sessions/${sessionId}/messages` })
            }
          }),
        ]
      }),
    )
    await Promise.all(this.#open)
  }

  stop(): void {
    this.#isOver = true
  }

  async #every(firstAt: number, everyMs: number, work: (dueAt: number) => Promise<void>): Promise<void> {
    for (let dueAt = firstAt; ; dueAt += everyMs) {
      while (Date.now() < dueAt && !this.#isOver) await delay(Math.min(200, dueAt - Date.now()))
      if (this.#isOver) return
      this.outcome.lateMsMax = Math.max(this.outcome.lateMsMax, Date.now() - dueAt)
      const working = work(dueAt).catch((error: unknown) => void this.outcome.wrong.push(String(error)))
      this.#open.add(working)
      void working.finally(() => this.#open.delete(working))
    }
  }

  async #submit(user: number, dueAt: number): Promise<void> {
    const key = this.#order.keys[user]!
    const body = { endpointId: 'test.echo', params: { text: 'An honest task.', dueAt } }
    const made = await this.#ask('submit', dueAt, { key, method: 'POST', path: '/api/tasks', body })
    if (made?.status !== 200) return
    const { taskId } = JSON.parse(made.text) as { taskId: string }
    this.outcome.taskIds.push([taskId, user])
    await this.#get('read', key, { dueAt: Date.now(), path: `/api/tasks/${taskId}` })
    await this.#get('poll', key, { dueAt: Date.now(), path: `/api/tasks/${taskId}?wait=${waitSeconds}` })
  }

  async #chat(key: string, sessionId: string | undefined, dueAt: number): Promise<void> {
    if (sessionId === undefined) return
    const body = { sessionId, message: 'How are you today?' }
    const told = await this.#ask('chat', dueAt, { key, method: 'POST', path: '/api/chat', body })
    if (told?.status !== 200) return
    this.#note('reply', dueAt, { ...told, headMs: told.ms })
    const costUsd = /"type":"done".*"costUsd":"([\d.]+)"/.exec(told.text)?.[1]
    if (told.text.includes('has not been settled yet')) this.outcome.settledLate++
    else if (costUsd === undefined) this.#wrong(`a chat ended in ${told.text.slice(-300)}`)
    else this.outcome.charged.push([sessionId, costUsd])
  }

  async #get(kind: HonestKind, key: string, { dueAt, path }: { dueAt: number; path: string }): Promise<void> {
    await this.#ask(kind, dueAt, { key, method: 'GET', path })
  }

  async #ask(kind: HonestKind, dueAt: number, sent: Sent): Promise<Told | undefined> {
    const startedAt = Date.now()
    try {
      const told = await this.#send(sent)
      const beforeMs = startedAt - dueAt
      this.#note(kind, dueAt, { ...told, headMs: told.headMs + beforeMs })
      if (told.status !== 200 && told.status !== 503) this.#wrong(`${kind}: ${told.status} ${told.text.slice(0, 200)}`)
      return told
    } catch (error) {
      this.#wrong(`${kind}: ${String(error)}`)
      return undefined
    }
  }

  #wrong(text: string): void {
    if (this.outcome.wrong.length < 50) this.outcome.wrong.push(`${new Date().toISOString()} ${text}`)
  }

  /**
   * Records a request. For a stream the latency ends at its head, which does not wait for a model. Other responses send
   * head and body together.
   */
  #note(kind: HonestKind, at: number, { headMs, ms, status }: Told): void {
    this.outcome.answers.push({ kind, at, ms: kind === 'chat' ? headMs : Math.max(headMs, ms), status })
  }

  #send({ body, key, method, path }: Sent): Promise<Told> {
    const text = body === undefined ? '' : JSON.stringify(body)
    const headers = {
      Authorization: `Bearer ${key}`,
      ...(body !== undefined && { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) }),
    }
    const startedAt = performance.now()
    return new Promise((resolve, reject) => {
      const sent = request(this.#order.url + path, { method, headers, agent, timeout: hungMs }, (response) => {
        const headMs = performance.now() - startedAt
        void textOf(response).then((received) => {
          resolve({ status: response.statusCode!, text: received, headMs, ms: performance.now() - startedAt })
        }, reject)
      })
      sent.on('timeout', () => sent.destroy(new Error(`no answer for ${hungMs} ms`)))
      sent.on('error', reject)
      sent.end(text)
    })
  }
}

async function textOf(response: IncomingMessage): Promise<string> {
  let text = ''
  response.setEncoding('utf8')
  for await (const chunk of response) text += chunk as string
  return text
}

const { server, url } = await startProvider()
let users: HonestUsers | undefined
process.on('message', (message: HonestOrder | 'stop') => {
  if (message === 'stop') return users?.stop()
  users = new HonestUsers(message)
  const { outcome } = users
  void users.run().then(() => {
    agent.destroy()
    server.closeAllConnections()
    server.close()
    process.send!(outcome, () => process.disconnect())
  })
})
process.once('disconnect', () => process.exit(0))
process.send!({ providerUrl: url })
