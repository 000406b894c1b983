import { createMethods, type ListMethod, type Method } from './calls/methods.ts'
import type { Call } from './calls/rpc-call.ts'

/** Where the caller's events are sent. Changing that needs the scope `manage`. */
export type WebhooksClient = {
  /**
   * Has events sent to an address. The secret that they are signed with is in this answer and is never shown again:
   * `webhooks.unwrap` takes it.
   *
   * @example
   * const { secret } = await client.webhooks.create({ url: 'https://example.com/events', types: ['task.failed'] })
   */
  create: Method<'webhooks.create'>
  get: Method<'webhooks.get'>
  /** The caller's webhooks, oldest first. */
  list: ListMethod<'webhooks.list'>
  /** Changes what is given; with `isEnabled` false what waits is never sent. */
  update: Method<'webhooks.update'>
  delete: Method<'webhooks.delete'>
  /** A new secret; for `overlapSeconds` requests are signed with the old one, too. */
  rotate: Method<'webhooks.rotate'>
  /** Sends a test event at once, and answers what became of that. */
  test: Method<'webhooks.test'>
  /** What became of its events of the last seven days, newest first; `next` of a page is the `after` of the next one. */
  deliveries: Method<'webhooks.deliveries'>
  /** Has an event sent again. */
  redeliver: Method<'webhooks.redeliver'>
}

export function createWebhooksClient(call: Call): WebhooksClient {
  const { change, list, read } = createMethods(call)
  return {
    create: change('webhooks.create'),
    get: read('webhooks.get'),
    list: list('webhooks.list'),
    update: change('webhooks.update'),
    delete: change('webhooks.delete'),
    rotate: change('webhooks.rotate'),
    test: change('webhooks.test'),
    deliveries: read('webhooks.deliveries'),
    redeliver: change('webhooks.redeliver'),
  }
}
