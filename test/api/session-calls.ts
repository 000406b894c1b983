import { defineConfig, type CodeAgentConfig, type ErrandConfig } from '../../server/agents/config/define-config.ts'
import { errorCatalogue, type ErrorCode } from '../../server/kernel/errors.ts'
import type { Answer, TestService } from '../support/test-service.ts'

// Session operations over REST and typed RPC. Both return the same kind of result, so that one test covers both.

/** Cost of a test agent's reply: 1,000 prompt and 500 completion tokens. */
export const replyCostUsd = '0.0200'

function talker(id: string, changes: Partial<CodeAgentConfig> = {}): CodeAgentConfig {
  return {
    kind: 'code',
    id,
    name: id,
    chat: {
      pricing: { inputPer1kUsd: '0.01', outputPer1kUsd: '0.02' },
      async *reply({ message, history }) {
        if (message === 'fail') throw new Error('told to')
        yield { type: 'text', delta: `${history.length}: ${message}` }
        yield { type: 'usage', promptTokens: 1000, completionTokens: 500 }
      },
    },
    ...changes,
  }
}

/** Two agents for everyone, one that only a certain user sees, and one without chat. */
export const sessionAgents: ErrandConfig = defineConfig({
  agents: [
    talker('one'),
    talker('two'),
    talker('hidden', { visibility: ['friend@example.com'] }),
    {
      kind: 'code',
      id: 'mute',
      name: 'Mute',
      endpoints: { run: { description: 'Is a task.', priceUsd: '0', params: {}, run: () => ({}) } },
    },
  ],
})

export const vias = ['REST', 'typed RPC'] as const
export type Via = (typeof vias)[number]

type Input = Record<string, unknown>
type Operation = 'create' | 'get' | 'list' | 'update' | 'delete' | 'messages'

export class SessionCalls {
  readonly #service: TestService
  readonly #key: string
  readonly #via: Via

  constructor(service: TestService, key: string, via: Via = 'REST') {
    this.#service = service
    this.#key = key
    this.#via = via
  }

  create(input: Input, headers: Record<string, string> = {}): Promise<Answer> {
    return this.#call('create', input, headers)
  }

  get(sessionId: string): Promise<Answer> {
    return this.#call('get', { sessionId })
  }

  list(input: Input = {}): Promise<Answer> {
    return this.#call('list', input)
  }

  update(sessionId: string, changes: Input): Promise<Answer> {
    return this.#call('update', { sessionId, ...changes })
  }

  delete(sessionId: string): Promise<Answer> {
    return this.#call('delete', { sessionId })
  }

  messages(sessionId: string, page: Input = {}): Promise<Answer> {
    return this.#call('messages', { sessionId, ...page })
  }

  async open(agentId = 'one', metadata?: Input): Promise<string> {
    const { body, status } = await this.create({ agentId, ...(metadata && { metadata }) })
    if (status !== 200) throw new Error(`not created: ${status} ${JSON.stringify(body)}`)
    return body.sessionId
  }

  /** Sends a message over REST. Returns the status and the events of the stream. */
  async chat(sessionId: string, message: string): Promise<{ status: number; events: any[] }> {
    const { body, status } = await this.#service.post('/api/chat', { sessionId, message }, { key: this.#key })
    const lines = (body as string).split('\n').filter((line) => line !== '')
    return { status, events: lines.map((line) => JSON.parse(line)) }
  }

  #call(operation: Operation, input: Input, headers: Record<string, string> = {}): Promise<Answer> {
    return this.#via === 'REST' ? this.#callRest(operation, input, headers) : this.#callRpc(operation, input, headers)
  }

  #callRest(operation: Operation, { sessionId, ...rest }: Input, headers: Record<string, string>): Promise<Answer> {
    const key = this.#key
    const one = `/api/sessions/${String(sessionId)}`
    const query = () => new URLSearchParams(rest as Record<string, string>).toString()
    switch (operation) {
      case 'create':
        return this.#service.post('/api/sessions', rest, { key, headers })
      case 'get':
        return this.#service.get(one, key)
      case 'list':
        return this.#service.get(`/api/sessions?${query()}`, key)
      case 'update':
        return this.#service.request('PATCH', one, { key, body: rest })
      case 'delete':
        return this.#service.request('DELETE', one, { key })
      case 'messages':
        return this.#service.get(`${one}/messages?${query()}`, key)
    }
  }

  async #callRpc(operation: Operation, json: Input, headers: Record<string, string>): Promise<Answer> {
    const path = `/trpc/sessions.${operation}`
    const isQuery = operation === 'get' || operation === 'list' || operation === 'messages'
    const answer = isQuery
      ? await this.#service.get(`${path}?input=${encodeURIComponent(JSON.stringify({ json }))}`, this.#key)
      : await this.#service.post(path, { json }, { key: this.#key, headers })
    const { error, result } = answer.body
    return { ...answer, body: error ? restError(error.json) : result.data.json }
  }
}

function restError({ data, message }: { data: any; message: string }): unknown {
  const { error } = errorCatalogue[data.errorCode as ErrorCode]
  const { details, errorCode: code, httpStatus: statusCode } = data
  return { error, message, statusCode, code, ...(details && { details }) }
}
