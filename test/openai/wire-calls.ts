import { expect } from 'vitest'
import type { Person, TestService } from '../support/test-service.ts'

/** A chat completion chunk or a response event. */
export type SseEvent = { event: string | undefined; data: any }

/** Parses the events of a body, without comments; `[DONE]` stays a string. */
export function readSse(text: string): SseEvent[] {
  return text
    .split('\n\n')
    .filter((block) => block !== '' && !block.startsWith(':'))
    .map((block) => {
      const lines = block.split('\n')
      const field = (name: string) => lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2)
      const data = field('data') ?? ''
      return { event: field('event'), data: data === '[DONE]' ? data : JSON.parse(data) }
    })
}

export const user = (content: unknown) => ({ role: 'user', content })

/** Sends requests of one user to /v1. */
export class WireCalls {
  readonly service: TestService
  readonly person: Person

  constructor(service: TestService, person: Person) {
    this.service = service
    this.person = person
  }

  post(path: string, body: unknown, headers: Record<string, string> = {}) {
    return this.service.post(`/v1${path}`, body, { key: this.person.key, headers })
  }

  get(path: string) {
    return this.service.get(`/v1${path}`, this.person.key)
  }

  complete(message: string, more: object = {}, headers: Record<string, string> = {}) {
    return this.post('/chat/completions', { model: 'talk', messages: [user(message)], ...more }, headers)
  }

  respond(input: unknown, more: object = {}, headers: Record<string, string> = {}) {
    return this.post('/responses', { model: 'talk', input, ...more }, headers)
  }

  async charges(): Promise<any[]> {
    return (await this.service.get('/api/transactions?type=chat_charge', this.person.key)).body.transactions
  }

  async sessions(): Promise<any[]> {
    return (await this.service.get('/api/sessions', this.person.key)).body.sessions
  }

  /** Waits until no funds are held, and checks that the ledger balances. */
  async expectSound(): Promise<void> {
    const held = async () => (await this.service.get('/api/account', this.person.key)).body.heldUsd
    await expect.poll(held, { timeout: 20_000, interval: 5 }).toBe('0.0000')
    expect(await this.service.app.store.verifyLedger()).toMatchObject({ ok: true, differences: [] })
  }
}
