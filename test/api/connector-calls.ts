import { expect } from 'vitest'
import { defineConfig, type ErrandConfig } from '../../server/agents/config/define-config.ts'
import { errorCatalogue, type ErrorCode } from '../../server/kernel/errors.ts'
import type { Answer, TestService } from '../support/test-service.ts'
import { sessionAgents, type Via } from './session-calls.ts'

// Connector operations over REST and typed RPC. Both return the same kind of result, so that one test covers both.

const node = { name: 'Node', command: process.execPath, args: ['--version'] }

/** The agents of the session tests, one HTTP agent, and two MCP servers of the operator. */
export const connectorConfig: ErrandConfig = defineConfig({
  agents: [
    ...sessionAgents.agents,
    {
      kind: 'http',
      id: 'remote',
      name: 'Remote',
      url: 'http://127.0.0.1:9/',
      secret: `whsec_${'a'.repeat(32)}`,
      endpoints: { run: { description: 'Is elsewhere.', priceUsd: '0', params: {} } },
      chat: { pricing: { inputPer1kUsd: '0', outputPer1kUsd: '0' } },
    },
  ],
  connectors: {
    servers: {
      plain: { ...node, description: 'Takes no token.', env: { OPERATOR_KEY: 'the-key-of-the-operator' } },
      token: { ...node, tokenEnv: 'TOKEN' },
    },
  },
})

type Input = Record<string, unknown>
type Operation = 'create' | 'get' | 'list' | 'update' | 'delete' | 'test' | 'tools' | 'callTool' | 'servers'

const queries: ReadonlySet<Operation> = new Set<Operation>(['get', 'list', 'tools', 'servers'])

export class ConnectorCalls {
  readonly #service: TestService
  readonly #key: string
  readonly #via: Via

  constructor(service: TestService, key: string, via: Via = 'REST') {
    this.#service = service
    this.#key = key
    this.#via = via
  }

  create(input: Input): Promise<Answer> {
    return this.#call('create', input)
  }

  get(connectorId: string): Promise<Answer> {
    return this.#call('get', { connectorId })
  }

  list(page: Input = {}): Promise<Answer> {
    return this.#call('list', page)
  }

  update(connectorId: string, changes: Input): Promise<Answer> {
    return this.#call('update', { connectorId, ...changes })
  }

  delete(connectorId: string): Promise<Answer> {
    return this.#call('delete', { connectorId })
  }

  test(connectorId: string): Promise<Answer> {
    return this.#call('test', { connectorId })
  }

  tools(connectorId: string): Promise<Answer> {
    return this.#call('tools', { connectorId })
  }

  callTool(connectorId: string, call: Input): Promise<Answer> {
    return this.#call('callTool', { connectorId, ...call })
  }

  servers(page: Input = {}): Promise<Answer> {
    return this.#call('servers', page)
  }

  async add(input: Input = {}): Promise<any> {
    const { body, status } = await this.create({ name: 'Docs', url: 'https://mcp.example.com/mcp', ...input })
    expect(status, JSON.stringify(body)).toBe(200)
    return body
  }

  #call(operation: Operation, input: Input): Promise<Answer> {
    return this.#via === 'REST' ? this.#callRest(operation, input) : this.#callRpc(operation, input)
  }

  #callRest(operation: Operation, { connectorId, ...rest }: Input): Promise<Answer> {
    const key = this.#key
    const one = `/api/connectors/${String(connectorId)}`
    const query = () => new URLSearchParams(rest as Record<string, string>).toString()
    switch (operation) {
      case 'create':
        return this.#service.post('/api/connectors', rest, { key })
      case 'get':
        return this.#service.get(one, key)
      case 'list':
        return this.#service.get(`/api/connectors?${query()}`, key)
      case 'update':
        return this.#service.request('PATCH', one, { key, body: rest })
      case 'delete':
        return this.#service.request('DELETE', one, { key })
      case 'test':
        return this.#service.request('POST', `${one}/test`, { key })
      case 'tools':
        return this.#service.get(`${one}/tools`, key)
      case 'callTool':
        return this.#service.post(`${one}/call`, rest, { key })
      case 'servers':
        return this.#service.get(`/api/connector-servers?${query()}`, key)
    }
  }

  async #callRpc(operation: Operation, json: Input): Promise<Answer> {
    const path = `/trpc/connectors.${operation}`
    const answer = queries.has(operation)
      ? await this.#service.get(`${path}?input=${encodeURIComponent(JSON.stringify({ json }))}`, this.#key)
      : await this.#service.post(path, { json }, { key: this.#key })
    const { error, result } = answer.body
    return { ...answer, body: error ? restError(error.json) : result.data.json }
  }
}

function restError({ data, message }: { data: any; message: string }): unknown {
  const { error } = errorCatalogue[data.errorCode as ErrorCode]
  const { details, errorCode: code, httpStatus: statusCode } = data
  return { error, message, statusCode, code, ...(details && { details }) }
}
