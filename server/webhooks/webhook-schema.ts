import { z } from 'zod'
import { cursorOutput, isoTimestamp, pageInput, pageOutput, resourceId } from '../kernel/wire-types.ts'
import { deliveryStatuses, disabledReasons, eventTypes, testEventType } from '../store/events/event-types.ts'
import { webhookUrlCharsMax } from './webhook-url.ts'

const overlapSeconds = { default: 24 * 3600, max: 7 * 24 * 3600 }

const webhookId = resourceId.describe('The id returned when the webhook was created')
const eventId = resourceId.describe('Id of the event, which its requests carry as `webhook-id`')
const description = z.string().max(200).describe('Note for your own use; never sent to the endpoint')

export const EventType = z.enum(eventTypes)
const types = z.array(EventType).min(1).max(50).describe('Types of events to send; all by default')

/** Checks only the length. `checkWebhookUrl` validates the URL itself. */
export const webhookUrl = z.string().min(1).max(webhookUrlCharsMax)

export const Webhook = z
  .object({
    id: z.string(),
    url: z.string().nullable().describe('Null for the webhook that signs requests to the `webhookUrl` of tasks'),
    description: z.string(),
    types: z.array(EventType).nullable().describe('Null for all event types'),
    isEnabled: z.boolean(),
    disabledReason: z
      .enum(disabledReasons)
      .nullable()
      .describe(
        '`user`: the user disabled it; `gone`: the endpoint responded with 410; `failing`: deliveries failed for three days',
      ),
    disabledAt: isoTimestamp.nullable(),
    failingSince: isoTimestamp.nullable().describe('Time of the first failure since the last success'),
    previousSecretUntil: isoTimestamp
      .nullable()
      .describe('Until when requests are also signed with the previous secret'),
    recent: z
      .object({
        succeeded: z.number().int(),
        failed: z.number().int(),
        responseP95Ms: z
          .number()
          .int()
          .nullable()
          .describe(
            '95th percentile of the response times, counting only the last attempt of each delivery; null if there were no responses',
          ),
      })
      .describe('Results of the most recent completed deliveries, at most 100'),
    lastFailure: z
      .object({ at: isoTimestamp, error: z.string() })
      .nullable()
      .describe('The last failed attempt among the most recent deliveries'),
    createdAt: isoTimestamp,
    updatedAt: isoTimestamp,
  })
  .meta({ id: 'Webhook' })
export type Webhook = z.output<typeof Webhook>

export const CreatedWebhook = Webhook.extend({
  secret: z.string().describe('The signing secret, shown only once: `whsec_` followed by base64 of 32 bytes'),
}).meta({ id: 'CreatedWebhook' })

export const CreateWebhookInput = z
  .object({
    url: webhookUrl
      .nullable()
      .describe('A public https URL; null for the webhook that signs requests to the `webhookUrl` of tasks'),
    description: description.default(''),
    types: types.optional(),
  })
  .refine(({ types, url }) => url !== null || types === undefined, {
    path: ['types'],
    message: "Must be omitted, because the webhookUrl of a task receives only that task's final event",
  })

export const WebhookInput = z.object({ webhookId })
export const ListWebhooksInput = z.object(pageInput)
export const ListWebhooksOutput = z.object({ webhooks: z.array(Webhook), ...pageOutput })

export const UpdateWebhookInput = z
  .object({
    webhookId,
    url: webhookUrl.optional(),
    description: description.optional(),
    types: types.nullable().optional().describe('Null for all event types'),
    isEnabled: z.boolean().optional().describe('False disables the webhook; its queued deliveries are then never sent'),
  })
  .refine(({ webhookId: _id, ...changes }) => Object.values(changes).some((change) => change !== undefined), {
    message: 'Must have at least one field to change',
  })

export const RotateWebhookInput = z.object({
  webhookId,
  overlapSeconds: z
    .number()
    .int()
    .min(0)
    .max(overlapSeconds.max)
    .default(overlapSeconds.default)
    .describe('How long requests are also signed with the old secret, in seconds'),
})

export const Delivery = z
  .object({
    eventId: z.string(),
    webhookId: z.string(),
    type: z.enum([...eventTypes, testEventType]),
    taskId: z.string().optional().describe('The task that the event is about; omitted if there is none'),
    sessionId: z.string().optional().describe('The session that the event is about; omitted if there is none'),
    url: z.string().nullable().describe("The task's `webhookUrl`, if the delivery goes there"),
    status: z.enum(deliveryStatuses).describe('`canceled` if the webhook was disabled or deleted before delivery'),
    attempts: z.number().int(),
    nextAttemptAt: isoTimestamp.nullable().describe('Time of the next attempt; null if there is none'),
    attemptedAt: isoTimestamp.nullable().describe('Time of the last attempt'),
    httpStatus: z.number().int().nullable().describe('HTTP status of the last response'),
    error: z.string().nullable().describe('Why the last attempt failed'),
    createdAt: isoTimestamp,
  })
  .meta({ id: 'WebhookDelivery' })
export type Delivery = z.output<typeof Delivery>

export const DeliveryDetails = Delivery.extend({
  request: z
    .object({
      url: z.string().nullable().describe('URL of the last attempt; null before the first one'),
      headers: z.record(z.string(), z.string()).describe('Headers of the request, without the signature'),
      body: z.string().describe('The exact JSON body that each attempt sends'),
    })
    .describe('The last request'),
  response: z
    .object({ head: z.string(), body: z.string() })
    .nullable()
    .describe(
      'The last response: at most 2,048 characters of status line and headers, and the first 1,024 bytes of the body',
    ),
  history: z
    .array(
      z.object({
        at: isoTimestamp,
        durationMs: z.number().int(),
        httpStatus: z.number().int().nullable(),
        error: z.string().nullable(),
      }),
    )
    .describe('The latest 20 attempts, oldest first, including those before a redelivery'),
}).meta({ id: 'WebhookDeliveryDetails' })
export type DeliveryDetails = z.output<typeof DeliveryDetails>

export const ListDeliveriesInput = z.object({
  webhookId,
  status: z.enum(deliveryStatuses).optional().describe('Returns only deliveries with this status'),
  after: resourceId.optional().describe('`next` from the previous page'),
  limit: pageInput.limit,
})
export const ListDeliveriesOutput = z.object({
  deliveries: z.array(Delivery),
  limit: z.number().int(),
  ...cursorOutput,
})

export const DeliveryInput = z.object({ webhookId, eventId })
