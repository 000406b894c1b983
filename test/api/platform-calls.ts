import type { z } from 'zod'
import { createPlatformKey } from '../../server/auth/platform/manage-platform-keys.ts'
import { CreatePlatformKeyInput } from '../../server/auth/platform/platform-key-schema.ts'
import { platformScopes } from '../../server/store/platform/platform-types.ts'
import type { Answer, TestService } from '../support/test-service.ts'

type Draft = Partial<z.input<typeof CreatePlatformKeyInput>>
type Call = { body?: unknown; user?: string; headers?: Record<string, string> }

/** The server of a product that is built on the service and has a platform key. */
export class PlatformCalls {
  readonly service: TestService
  readonly key: string
  readonly keyId: string

  constructor(service: TestService, { id, key }: { id: string; key: string }) {
    this.service = service
    this.key = key
    this.keyId = id
  }

  /** Creates a platform key, by default with all scopes. */
  static async open(service: TestService, draft: Draft = {}): Promise<PlatformCalls> {
    const input = CreatePlatformKeyInput.parse({ name: 'shop', scopes: [...platformScopes], ...draft })
    return new PlatformCalls(service, await createPlatformKey(service.app.services.people, { adminId: null, input }))
  }

  call(method: string, path: string, { body, headers, user }: Call = {}): Promise<Answer> {
    const acting = user === undefined ? {} : { 'Errand-User': user }
    return this.service.request(method, path, { key: this.key, body, headers: { ...acting, ...headers } })
  }

  get(path: string, user?: string): Promise<Answer> {
    return this.call('GET', path, user === undefined ? {} : { user })
  }

  post(path: string, body: unknown, call: Omit<Call, 'body'> = {}): Promise<Answer> {
    return this.call('POST', path, { ...call, body })
  }

  openUser(externalId: string, body?: object): Promise<Answer> {
    return this.call('PUT', `/api/users/by-external-id/${encodeURIComponent(externalId)}`, body ? { body } : {})
  }

  /** Creates a user of the product with this balance and returns the user's id. */
  async newUser(externalId: string, balanceUsd = '10'): Promise<string> {
    const { body, status } = await this.openUser(externalId)
    if (status !== 200) throw new Error(`no user: ${status} ${JSON.stringify(body)}`)
    const credit = { amountUsd: balanceUsd, reason: 'Top-up' }
    const credited = await this.post(`/api/users/${body.id}/credit`, credit)
    if (credited.status !== 200) throw new Error(`no credit: ${JSON.stringify(credited.body)}`)
    return body.id
  }
}
