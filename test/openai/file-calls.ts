import { expect } from 'vitest'
import type { Limits } from '../../server/app/config.ts'
import { soon } from '../chat/chat-checks.ts'
import { fileAgents } from '../support/file-agents.ts'
import { ModelProvider, reply } from '../support/model-provider.ts'
import { startService, type TestService } from '../support/test-service.ts'
import { queryRows } from '../support/test-engine.ts'
import { storedPayloads } from '../support/stored-payloads.ts'
import { user, WireCalls } from './wire-calls.ts'

export const urlOf = (content: Buffer | string, type = 'image/png') =>
  `data:${type};base64,${Buffer.from(content).toString('base64')}`
export const text = (said: string, type = 'text') => ({ type, text: said })
export const image = (url: unknown, type = 'image_url') =>
  type === 'image_url' ? { type, image_url: { url, detail: 'low' } } : { type, image_url: url, detail: 'low' }
export const file = (more: object) => ({ type: 'file', file: more })
export const inputFile = (more: object) => ({ type: 'input_file', ...more })

export class FileCalls extends WireCalls {
  readonly provider: ModelProvider

  constructor(service: TestService, of: { person: WireCalls['person']; provider: ModelProvider }) {
    super(service, of.person)
    this.provider = of.provider
  }

  completeWith(content: unknown, model = 'sees', more: object = {}) {
    return this.post('/chat/completions', { model, messages: [user(content)], ...more })
  }

  respondWith(input: unknown, model = 'sees', more: object = {}) {
    return this.post('/responses', { model, input: [user(input)], ...more })
  }

  /** Returns the ids of payloads, in rows and in storage. */
  async payloads(): Promise<string[][]> {
    const { app, dataDir } = this.service
    const rows = await app.store.listPayloads({ afterId: '', limit: 100 })
    return [rows.map(({ id }) => id), await storedPayloads(dataDir).ids()]
  }

  async expectNoPayload(): Promise<void> {
    await expect.poll(() => this.payloads(), soon).toEqual([[], []])
  }

  async state(): Promise<string> {
    const { body } = await this.service.get('/api/account', this.person.key)
    const { balanceUsd, heldUsd } = body
    const turns = await queryRows(this.service.dataDir, 'SELECT id FROM turns')
    const kept = [turns, await this.charges(), await this.sessions(), await this.payloads()]
    return JSON.stringify([balanceUsd, heldUsd, ...kept])
  }
}

type Start = {
  contextTokens?: number
  balanceUsd?: string
  limits?: Partial<Limits>
  onFault?: (said: unknown) => void
}

export async function start({ balanceUsd = '10', contextTokens, limits = {}, onFault }: Start = {}) {
  const provider = await ModelProvider.start()
  provider.play(reply({ text: ['A grey field.'], usage: { prompt_tokens: 1234, completion_tokens: 5 } }))
  const service = await startService({
    config: fileAgents(provider.url, { ...(contextTokens !== undefined && { contextTokens }) }),
    limits: { executionsPerMinute: 0, abuseFailures: 0, ...limits },
    ...(onFault && { log: { debug() {}, info() {}, warn: onFault, error: onFault } }),
  })
  const mine = new FileCalls(service, { person: await service.createPerson({ balanceUsd }), provider })
  const stop = async () => {
    await service.stop()
    await provider.stop()
  }
  return { mine, provider, service, stop }
}

export const asked = (path: string, content: unknown) =>
  path === '/responses' ? { input: [user(content)] } : { messages: [user(content)] }
