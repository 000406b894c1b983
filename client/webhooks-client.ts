import { methodsOf, type ListMethod, type Method } from './calls/methods.ts'
import type { Call } from './calls/rpc-call.ts'

/** The caller's webhooks. Changing them requires the `manage` scope. */
export type WebhooksClient = {
  /**
   * Creates a webhook, which sends events to a URL. Only this response contains the signing secret. Pass it to
   * `webhooks.unwrap`.
   *
   * @example
   * const { secret } = await client.webhooks.create({ url: 'https://example.com/events', types: ['task.failed'] })
   */
  create: Method<'webhooks.create'>
  get: Method<'webhooks.get'>
  /** Lists the caller's webhooks, oldest first. */
  list: ListMethod<'webhooks.list'>
  /** Changes the given fields. `isEnabled: false` cancels queued deliveries. */
  update: Method<'webhooks.update'>
  delete: Method<'webhooks.delete'>
  /** Creates a new secret. For `overlapSeconds`, requests are also signed with the old one. */
  rotate: Method<'webhooks.rotate'>
  /** Sends a test event immediately and returns the outcome. */
  test: Method<'webhooks.test'>
  /**
   * Lists the deliveries of the last seven days, newest first. To get the next page, pass a page's `next` as `after`.
   */
  deliveries: Method<'webhooks.deliveries'>
  /** Returns a delivery with its last request, its last response and its attempts. */
  delivery: Method<'webhooks.delivery'>
  redeliver: Method<'webhooks.redeliver'>
}

export function createWebhooksClient(call: Call): WebhooksClient {
  return methodsOf(call, 'webhooks', {
    create: 'change',
    get: 'read',
    list: 'list',
    update: 'change',
    delete: 'change',
    rotate: 'change',
    test: 'change',
    deliveries: 'read',
    delivery: 'read',
    redeliver: 'change',
  })
}
