import type { HttpAgentConfig } from '../config/define-config.ts'
import { parseWebhookSecret } from '../config/webhook-secret.ts'

export type HttpLimits = {
  connectMs: number
  /** Maximum time from a chat request to its response headers. For tasks, the endpoint's timeout applies instead. */
  chatHeadMs: number
  taskBytesMax: number
  taskValuesMax: number
  lineBytesMax: number
  refusalBytesMax: number
  refusalMs: number
}

export const httpLimits: HttpLimits = {
  connectMs: 10_000,
  chatHeadMs: 60_000,
  taskBytesMax: 50 * 1024 * 1024,
  taskValuesMax: 3_000_000,
  lineBytesMax: 10 * 1024 * 1024,
  refusalBytesMax: 65_536,
  refusalMs: 5000,
}

export type HttpService = { url: URL; key: Buffer }

/** Throws if the URL or the secret is invalid. The error message contains neither. */
export function toHttpService({ id, secret, url }: HttpAgentConfig): HttpService {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  if (!parsed || !/^https?:$/.test(parsed.protocol))
    throw new TypeError(`The url of the agent "${id}" must be an http or https URL`)
  const key = parseWebhookSecret(secret)
  if (!key) throw new TypeError(`The secret of the agent "${id}" must be whsec_ followed by 24 to 64 bytes in base64`)
  return { url: parsed, key }
}
