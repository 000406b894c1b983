import { z } from 'zod'
import { cursorOutput, isoTimestamp, pageInput, pageOutput, resourceId } from '../kernel/wire-types.ts'
import { deliveryStatuses, disabledReasons, eventTypes, testEventType } from '../store/webhook-records.ts'
import { webhookUrlCharsMax } from './webhook-url.ts'

// Wire schemas of the webhook operations, shared by REST and typed RPC.

const overlapSeconds = { default: 24 * 3600, max: 7 * 24 * 3600 }

const webhookId = resourceId.describe('The id returned when the webhook was created')
const eventId = resourceId.describe('The id of the event, which is the `webhook-id` of its requests')
const description = z.string().max(200).describe('What it is for; never sent')

export const EventType = z.enum(eventTypes)
const types = z.array(EventType).min(1).max(50).describe('The events that are sent; all when left out')

/** Validated further on use: `checkWebhookUrl`. */
export const webhookUrl = z.string().min(1).max(webhookUrlCharsMax)

export const Webhook = z
  .object({
    id: z.string(),
    url: z.string().nullable().describe('Null for the one that signs for the `webhookUrl` of tasks'),
    description: z.string(),
    types: z.array(EventType).nullable().describe('Null for all'),
    isEnabled: z.boolean(),
    disabledReason: z
      .enum(disabledReasons)
      .nullable()
      .describe('`user`; `gone` when it answered 410; `failing` after three days without one success'),
    disabledAt: isoTimestamp.nullable(),
    failingSince: isoTimestamp.nullable().describe('The first failure since the last success'),
    previousSecretUntil: isoTimestamp
      .nullable()
      .describe('Until then requests are signed with the secret before the last rotation, too'),
    createdAt: isoTimestamp,
    updatedAt: isoTimestamp,
  })
  .meta({ id: 'Webhook' })
export type Webhook = z.output<typeof Webhook>

export const CreatedWebhook = Webhook.extend({
  secret: z.string().describe('`whsec_` and base64 of 32 bytes; shown only here'),
}).meta({ id: 'CreatedWebhook' })

export const CreateWebhookInput = z
  .object({
    url: webhookUrl
      .nullable()
      .describe('A public https address; null for the one webhook that signs for the `webhookUrl` of tasks'),
    description: description.default(''),
    types: types.optional(),
  })
  .refine(({ types, url }) => url !== null || types === undefined, {
    path: ['types'],
    message: 'Must be left out: an address that a task names is told of the end of that task',
  })

export const WebhookInput = z.object({ webhookId })
export const ListWebhooksInput = z.object(pageInput)
export const ListWebhooksOutput = z.object({ webhooks: z.array(Webhook), ...pageOutput })

export const UpdateWebhookInput = z
  .object({
    webhookId,
    url: webhookUrl.optional(),
    description: description.optional(),
    types: types.nullable().optional().describe('Null for all'),
    isEnabled: z.boolean().optional().describe('What waits for one that is disabled is never sent'),
  })
  .refine(({ webhookId: _id, ...changes }) => Object.values(changes).some((change) => change !== undefined), {
    message: 'Give what to change',
  })

export const RotateWebhookInput = z.object({
  webhookId,
  overlapSeconds: z
    .number()
    .int()
    .min(0)
    .max(overlapSeconds.max)
    .default(overlapSeconds.default)
    .describe('For so long requests have a signature of the old secret, too'),
})

export const Delivery = z
  .object({
    eventId: z.string(),
    webhookId: z.string(),
    type: z.enum([...eventTypes, testEventType]),
    url: z.string().nullable().describe('The `webhookUrl` of the task, where that is whom it goes to'),
    status: z
      .enum(deliveryStatuses)
      .describe('`canceled` when its webhook was disabled or deleted before it was delivered'),
    attempts: z.number().int(),
    nextAttemptAt: isoTimestamp.nullable().describe('Null when it has ended'),
    attemptedAt: isoTimestamp.nullable().describe('The last attempt'),
    httpStatus: z.number().int().nullable().describe('Of the last answer, of which nothing else is kept'),
    error: z.string().nullable().describe('Why the last attempt was none'),
    createdAt: isoTimestamp,
  })
  .meta({ id: 'WebhookDelivery' })
export type Delivery = z.output<typeof Delivery>

export const ListDeliveriesInput = z.object({
  webhookId,
  status: z.enum(deliveryStatuses).optional().describe('Only deliveries in this state'),
  after: resourceId.optional().describe('The `next` of the page before'),
  limit: pageInput.limit,
})
export const ListDeliveriesOutput = z.object({
  deliveries: z.array(Delivery),
  limit: z.number().int(),
  ...cursorOutput,
})

export const DeliveryInput = z.object({ webhookId, eventId })
