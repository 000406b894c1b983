import type { Page } from '../store/list-place.ts'
import type { z } from 'zod'
import { isoTime, isoTimeOrNull, type Clock } from '../kernel/clock.ts'
import { badField, ErrandError } from '../kernel/errors.ts'
import { newId } from '../kernel/ids.ts'
import { ownTurn } from '../kernel/own-turn.ts'
import type { Store } from '../store/store.ts'
import { webhooksMax, type UpdateWebhook, type WebhookOf } from '../store/events/webhook-types.ts'
import type { DeliveryRecord, WebhookRecord } from '../store/events/event-types.ts'
import { SealedSecretsError, type SecretVault } from '../kernel/secret-vault.ts'
import { leaseMs, type WebhookDispatcher } from './webhook-dispatcher.ts'
import type {
  CreatedWebhook,
  CreateWebhookInput,
  Delivery,
  DeliveryDetails,
  DeliveryInput,
  ListDeliveriesInput,
  ListDeliveriesOutput,
  ListWebhooksOutput,
  RotateWebhookInput,
  UpdateWebhookInput,
  Webhook,
} from './webhook-schema.ts'
import { newSecret, openSecrets, sealSecrets } from './signing-keys.ts'
import { postHeaders } from './webhook-post.ts'
import { checkWebhookUrl } from './webhook-url.ts'

export type WebhookParts = {
  clock: Clock
  dispatcher: WebhookDispatcher
  /** Hosts that webhooks may reach even if they resolve to private addresses. */
  privateHosts: readonly string[]
  store: Store
  /** Throws RATE_LIMIT_EXCEEDED after too many tests, because each test inserts rows that are stored for days. */
  testRate: { count: (userId: string) => void }
  vault: SecretVault
}

type WebhookRequest<Input extends z.ZodType> = { input: z.output<Input>; userId: string }

/** Creates a webhook and its secret. The secret is returned only once. */
export async function createWebhook(
  { clock, privateHosts, store, vault }: WebhookParts,
  { input, userId }: WebhookRequest<typeof CreateWebhookInput>,
): Promise<z.output<typeof CreatedWebhook>> {
  const { description, types } = input
  const url = input.url === null ? null : checkWebhookUrl(input.url, { field: 'url', privateHosts })
  const of = { userId, webhookId: newId('hook', clock.now()) }
  const secret = newSecret()
  const sealed = sealSecrets(vault, of, { current: secret })
  const result = await store.webhooks.create({
    ...of,
    url,
    description,
    types: types ? [...new Set(types)] : null,
    sealed,
  })
  if (result.outcome === 'created') return { ...(await toWebhook(store, result.webhook)), secret }
  if (result.reason === 'too-many') {
    throw new ErrandError(
      'CONFLICT',
      `There are already ${webhooksMax} webhooks, the maximum. Delete one of them first.`,
    )
  }
  throw new ErrandError(
    'CONFLICT',
    'There is already a webhook for the webhookUrl of tasks. To get a new secret, rotate its secret.',
  )
}

export async function getWebhook({ store }: WebhookParts, of: WebhookOf): Promise<Webhook> {
  return await toWebhook(store, await find(store, of))
}

export async function listWebhooks(
  { store }: Pick<WebhookParts, 'store'>,
  { limit, offset, userId }: Page & { userId: string },
): Promise<z.output<typeof ListWebhooksOutput>> {
  const webhooks = await store.webhooks.list(userId)
  const page: Webhook[] = []
  for (const webhook of webhooks.slice(offset, offset + limit)) {
    // Reading a webhook's last responses takes a few milliseconds.
    await ownTurn(userId)
    page.push(await toWebhook(store, webhook))
  }
  return { webhooks: page, total: webhooks.length, limit, offset }
}

export async function updateWebhook(
  { privateHosts, store }: WebhookParts,
  { input, userId }: WebhookRequest<typeof UpdateWebhookInput>,
): Promise<Webhook> {
  const { description, isEnabled, types, url, webhookId } = input
  const old = await find(store, { userId, webhookId })
  if (old.url === null && (url !== undefined || types)) {
    const field = url === undefined ? 'types' : 'url'
    throw badField(field, 'Must be omitted, because this webhook is for the webhookUrl of tasks')
  }
  const changes: UpdateWebhook['changes'] = {
    ...(description !== undefined && { description }),
    ...(isEnabled !== undefined && { isEnabled }),
    ...(types !== undefined && { types: types && [...new Set(types)] }),
    ...(url !== undefined && { url: checkWebhookUrl(url, { field: 'url', privateHosts }) }),
  }
  // Cancel deliveries that were queued before the webhook was disabled. Otherwise, they would be sent once it is
  // enabled.
  if (isEnabled === true && old.disabledAt !== null) await cancelWaiting(store, webhookId)
  const webhook = await store.webhooks.update({ userId, webhookId, changes })
  if (!webhook) throw notFound()
  if (isEnabled === false) await cancelWaiting(store, webhookId)
  return await toWebhook(store, webhook)
}

export async function deleteWebhook({ store }: WebhookParts, of: WebhookOf): Promise<void> {
  if (!(await store.webhooks.delete(of))) throw notFound()
  await cancelWaiting(store, of.webhookId)
}

/** Cancels all queued deliveries of a webhook. After a crash, the dispatcher cancels the rest when they become due. */
async function cancelWaiting(store: Store, webhookId: string): Promise<void> {
  while (await store.webhooks.cancelDeliveries(webhookId)) continue
}

/** During the overlap, requests are signed with both the old and the new secret. */
export async function rotateWebhook(
  { clock, store, vault }: WebhookParts,
  { input, userId }: WebhookRequest<typeof RotateWebhookInput>,
): Promise<z.output<typeof CreatedWebhook>> {
  const { overlapSeconds, webhookId } = input
  const of = { userId, webhookId }
  const { sealed: from } = await find(store, of)
  const secret = newSecret()
  const previous = readCurrent(vault, of, from)
  const to = sealSecrets(vault, of, { current: secret, ...(previous !== undefined && { previous }) })
  const previousUntil = clock.now() + overlapSeconds * 1000
  if (!(await store.webhooks.rotate({ ...of, from, to, previousUntil }))) {
    throw new ErrandError('CONFLICT', 'Another request changed the webhook. Try again.')
  }
  return { ...(await toWebhook(store, await find(store, of))), secret }
}

/** Returns undefined if the service's own secret was lost. Rotating the webhook's secret then repairs the webhook. */
function readCurrent(vault: SecretVault, of: WebhookOf, sealed: string): string | undefined {
  try {
    return openSecrets(vault, of, sealed).current
  } catch (error) {
    if (error instanceof SealedSecretsError) return undefined
    throw error
  }
}

/**
 * Sends a test event once, without retries, and returns the outcome. Sends nothing if the client disconnects while the
 * test is queued.
 */
export async function testWebhook(
  { clock, dispatcher, store, testRate }: WebhookParts,
  { signal, ...of }: WebhookOf & { signal: AbortSignal },
): Promise<Delivery> {
  const { url } = await find(store, of)
  if (url === null) {
    throw new ErrandError('CONFLICT', 'This webhook does not have a URL. To test it, create a task with a webhookUrl.')
  }
  const { userId, webhookId } = of
  const test = async () => {
    testRate.count(userId)
    const eventId = newId('evt', clock.now())
    const delivery = await store.webhooks.test({ ...of, eventId, leaseMs })
    if (!delivery) throw notFound()
    await dispatcher.sendNow(delivery)
    return toDelivery(await findDelivery(store, { webhookId, eventId }))
  }
  return await dispatcher.inTestPlace(userId, signal, test).catch((error: unknown) => {
    throw error === signal.reason
      ? new ErrandError('REQUEST_TIMEOUT', 'The client disconnected before the test started. Send the test again.')
      : error
  })
}

export async function listDeliveries(
  { store }: WebhookParts,
  { input, userId }: WebhookRequest<typeof ListDeliveriesInput>,
): Promise<z.output<typeof ListDeliveriesOutput>> {
  const { after, limit, status, webhookId } = input
  await find(store, { userId, webhookId })
  const rows = await store.webhooks.listDeliveries({
    userId,
    webhookId,
    limit: limit + 1,
    ...(after !== undefined && { after }),
    ...(status !== undefined && { status }),
  })
  const deliveries = rows.slice(0, limit).map(toDelivery)
  return { deliveries, limit, ...(rows.length > limit && { next: deliveries.at(-1)!.eventId }) }
}

export async function getDelivery(
  { store }: WebhookParts,
  { input, userId }: WebhookRequest<typeof DeliveryInput>,
): Promise<DeliveryDetails> {
  const { eventId, webhookId } = input
  await find(store, { userId, webhookId })
  const sent = await store.webhooks.getSent({ webhookId, eventId })
  if (!sent) throw deliveryNotFound()
  const { trace, ...delivery } = sent
  const attempts = trace?.attempts ?? []
  const sentAt = attempts.at(-1)?.at
  return {
    ...toDelivery(delivery),
    request: {
      url: trace && trace.url,
      headers: {
        ...postHeaders,
        'webhook-id': eventId,
        ...(sentAt !== undefined && { 'webhook-timestamp': String(Math.floor(sentAt / 1000)) }),
      },
      body: delivery.body,
    },
    response: trace && trace.response,
    history: attempts.map((attempt) => ({ ...attempt, at: isoTime(attempt.at) })),
  }
}

/** Queues an event for one webhook again, regardless of the status of its delivery. */
export async function redeliver(
  { store }: WebhookParts,
  { input, userId }: WebhookRequest<typeof DeliveryInput>,
): Promise<Delivery> {
  const { eventId, webhookId } = input
  const { disabledAt } = await find(store, { userId, webhookId })
  await findDelivery(store, { webhookId, eventId })
  if (disabledAt !== null) throw new ErrandError('CONFLICT', 'The webhook is disabled. Enable it first.')
  const delivery = await store.webhooks.redeliver({ webhookId, eventId })
  if (!delivery) throw deliveryNotFound()
  return toDelivery(delivery)
}

async function find(store: Store, of: WebhookOf): Promise<WebhookRecord> {
  const webhook = await store.webhooks.get(of)
  if (!webhook) throw notFound()
  return webhook
}

async function findDelivery(store: Store, of: { webhookId: string; eventId: string }): Promise<DeliveryRecord> {
  const delivery = await store.webhooks.getDelivery(of)
  if (!delivery) throw deliveryNotFound()
  return delivery
}

async function toWebhook(store: Store, webhook: WebhookRecord): Promise<Webhook> {
  const { createdAt, description, disabledAt, disabledReason, failingSince, id, previousUntil, types, updatedAt, url } =
    webhook
  const { lastFailure, ...recent } = await store.webhooks.health(id)
  return {
    id,
    url,
    description,
    types,
    isEnabled: disabledAt === null,
    disabledReason,
    disabledAt: isoTimeOrNull(disabledAt),
    failingSince: isoTimeOrNull(failingSince),
    previousSecretUntil: isoTimeOrNull(previousUntil),
    recent,
    lastFailure: lastFailure && { ...lastFailure, at: isoTime(lastFailure.at) },
    createdAt: isoTime(createdAt),
    updatedAt: isoTime(updatedAt),
  }
}

function toDelivery({ attemptedAt, body, createdAt, dueAt, ...delivery }: DeliveryRecord): Delivery {
  const { sessionId, taskId } = JSON.parse(body).data as Pick<Delivery, 'sessionId' | 'taskId'>
  return {
    ...delivery,
    ...(taskId !== undefined && { taskId }),
    ...(sessionId !== undefined && { sessionId }),
    nextAttemptAt: isoTimeOrNull(dueAt),
    attemptedAt: isoTimeOrNull(attemptedAt),
    createdAt: isoTime(createdAt),
  }
}

function notFound(): ErrandError {
  return new ErrandError('NOT_FOUND', 'Webhook not found. Check the id.')
}

function deliveryNotFound(): ErrandError {
  return new ErrandError('NOT_FOUND', 'Delivery not found. Check the event id.')
}
