import {
  createWebhook,
  deleteWebhook,
  getDelivery,
  getWebhook,
  listDeliveries,
  listWebhooks,
  redeliver,
  rotateWebhook,
  testWebhook,
  updateWebhook,
  type WebhookParts,
} from './manage-webhooks.ts'
import { Confirmation } from '../kernel/wire-types.ts'
import type { AnyCaller } from '../procedures/caller.ts'
import { procedure, router, withOwner, withOwnerWrite } from '../procedures/procedure.ts'
import { platformOwner } from '../store/events/webhook-types.ts'
import {
  CreatedWebhook,
  CreateWebhookInput,
  Delivery,
  DeliveryDetails,
  DeliveryInput,
  ListDeliveriesInput,
  ListDeliveriesOutput,
  ListWebhooksInput,
  ListWebhooksOutput,
  RotateWebhookInput,
  UpdateWebhookInput,
  Webhook,
  WebhookInput,
} from './webhook-schema.ts'

const tags = ['Webhooks']
const badParameter = 'A parameter is invalid.'
const notFound = 'The webhook was not found.'
const bodyResponses = {
  400: 'The body is invalid.',
  403: 'The caller lacks permission.',
  413: 'The body is too large.',
  415: 'The body is not JSON.',
}

/** A platform key that does not act on behalf of a user manages the platform's webhooks. */
const ownerOf = (caller: AnyCaller) => ('platform' in caller ? platformOwner : caller.userId)

const neverLeft = new AbortController().signal

export const webhooksRouter = (parts: WebhookParts) =>
  router({
    create: procedure
      .meta({
        openapi: {
          method: 'POST',
          path: '/api/webhooks',
          operationId: 'createWebhook',
          tags,
          summary: 'Create a webhook',
          description:
            "Events are sent as specified by Standard Webhooks 1.0 and signed with the secret in this response, which is never shown again. If `url` is null, creates the account's only webhook that signs requests to the `webhookUrl` of tasks. Without `Errand-User`, a platform key with the `webhooks` scope manages the platform's own webhooks, which receive the events of all users who are not admins.",
          protect: true,
          successDescription: 'The new webhook, with its secret.',
          errorResponses: {
            ...bodyResponses,
            409: 'The maximum number of webhooks already exists, or there already is a webhook whose `url` is null.',
          },
        },
      })
      .input(CreateWebhookInput)
      .output(CreatedWebhook)
      .mutation(
        withOwnerWrite('manage', 'webhooks', ({ ctx, input }) =>
          createWebhook(parts, { input, userId: ownerOf(ctx.caller) }),
        ),
      ),

    list: procedure
      .meta({
        openapi: {
          method: 'GET',
          path: '/api/webhooks',
          operationId: 'listWebhooks',
          tags,
          summary: "List the caller's webhooks, oldest first",
          description: 'Includes the webhook for the `webhookUrl` of tasks, whose `url` is null. Secrets are omitted.',
          protect: true,
          successDescription: 'One page of webhooks and the total.',
          errorResponses: { 400: badParameter },
        },
      })
      .input(ListWebhooksInput)
      .output(ListWebhooksOutput)
      .query(
        withOwner('read', 'webhooks', ({ ctx, input }) =>
          listWebhooks(parts, { ...input, userId: ownerOf(ctx.caller) }),
        ),
      ),

    get: procedure
      .meta({
        openapi: {
          method: 'GET',
          path: '/api/webhooks/{webhookId}',
          operationId: 'getWebhook',
          tags,
          summary: 'Get a webhook',
          description: 'Includes its status and the time of the first failure since the last success.',
          protect: true,
          successDescription: 'The webhook, without its secret.',
          errorResponses: { 400: badParameter, 404: notFound },
        },
      })
      .input(WebhookInput)
      .output(Webhook)
      .query(
        withOwner('read', 'webhooks', ({ ctx, input }) => getWebhook(parts, { ...input, userId: ownerOf(ctx.caller) })),
      ),

    update: procedure
      .meta({
        openapi: {
          method: 'PATCH',
          path: '/api/webhooks/{webhookId}',
          operationId: 'updateWebhook',
          tags,
          summary: 'Change a webhook, disable it or enable it again',
          description:
            'Omitted fields stay unchanged. Queued deliveries of a disabled webhook and events that occur while it is disabled are never sent.',
          protect: true,
          successDescription: 'The updated webhook.',
          errorResponses: { ...bodyResponses, 404: notFound },
        },
      })
      .input(UpdateWebhookInput)
      .output(Webhook)
      .mutation(
        withOwnerWrite('manage', 'webhooks', ({ ctx, input }) =>
          updateWebhook(parts, { input, userId: ownerOf(ctx.caller) }),
        ),
      ),

    delete: procedure
      .meta({
        openapi: {
          method: 'DELETE',
          path: '/api/webhooks/{webhookId}',
          operationId: 'deleteWebhook',
          tags,
          summary: 'Delete a webhook with its secret',
          description: 'Its queued deliveries are never sent.',
          protect: true,
          successDescription: 'The webhook was deleted.',
          errorResponses: { 400: badParameter, 403: 'The caller lacks permission.', 404: notFound },
        },
      })
      .input(WebhookInput)
      .output(Confirmation)
      .mutation(
        withOwnerWrite('manage', 'webhooks', async ({ ctx, input }) => {
          await deleteWebhook(parts, { ...input, userId: ownerOf(ctx.caller) })
          return { message: 'Webhook deleted' }
        }),
      ),

    rotate: procedure
      .meta({
        isBodyOptional: true,
        openapi: {
          method: 'POST',
          path: '/api/webhooks/{webhookId}/rotate',
          operationId: 'rotateWebhook',
          tags,
          summary: 'Rotate the secret of a webhook',
          description: 'During the overlap, requests have two signatures, one with each secret.',
          protect: true,
          successDescription: 'The webhook with its new secret, which is never shown again.',
          errorResponses: { ...bodyResponses, 404: notFound, 409: 'Another request changed the webhook.' },
        },
      })
      .input(RotateWebhookInput)
      .output(CreatedWebhook)
      .mutation(
        withOwnerWrite('manage', 'webhooks', ({ ctx, input }) =>
          rotateWebhook(parts, { input, userId: ownerOf(ctx.caller) }),
        ),
      ),

    test: procedure
      .meta({
        isBodyOptional: true,
        isHeld: true,
        openapi: {
          method: 'POST',
          path: '/api/webhooks/{webhookId}/test',
          operationId: 'testWebhook',
          tags,
          summary: 'Send a test event to a webhook',
          description:
            'Sends one event of type `webhook.test` immediately, without retries, and returns the result. Also works for a disabled webhook.',
          protect: true,
          successDescription: 'The delivery.',
          errorResponses: {
            ...bodyResponses,
            404: notFound,
            409: 'The webhook is for the `webhookUrl` of tasks and has no URL.',
          },
        },
      })
      .input(WebhookInput)
      .output(Delivery)
      .mutation(
        withOwnerWrite('manage', 'webhooks', ({ ctx, input, signal = neverLeft }) =>
          testWebhook(parts, { ...input, userId: ownerOf(ctx.caller), signal }),
        ),
      ),

    deliveries: procedure
      .meta({
        openapi: {
          method: 'GET',
          path: '/api/webhooks/{webhookId}/deliveries',
          operationId: 'listWebhookDeliveries',
          tags,
          summary: 'List the deliveries of a webhook, newest first',
          description: 'Deliveries are kept for seven days. To get the next page, send `next` as `after`.',
          protect: true,
          successDescription: 'One page of deliveries.',
          errorResponses: { 400: badParameter, 404: notFound },
        },
      })
      .input(ListDeliveriesInput)
      .output(ListDeliveriesOutput)
      .query(
        withOwner('read', 'webhooks', ({ ctx, input }) =>
          listDeliveries(parts, { input, userId: ownerOf(ctx.caller) }),
        ),
      ),

    delivery: procedure
      .meta({
        openapi: {
          method: 'GET',
          path: '/api/webhooks/{webhookId}/deliveries/{eventId}',
          operationId: 'getWebhookDelivery',
          tags,
          summary: 'Get a delivery with its last request, its last response and its attempts',
          description:
            'Deliveries are stored for seven days. Of a response body, at most the first 4,096 bytes are stored.',
          protect: true,
          successDescription: 'The delivery.',
          errorResponses: { 400: badParameter, 404: 'The webhook or the event was not found.' },
        },
      })
      .input(DeliveryInput)
      .output(DeliveryDetails)
      .query(
        withOwner('read', 'webhooks', ({ ctx, input }) => getDelivery(parts, { input, userId: ownerOf(ctx.caller) })),
      ),

    redeliver: procedure
      .meta({
        isBodyOptional: true,
        openapi: {
          method: 'POST',
          path: '/api/webhooks/{webhookId}/deliveries/{eventId}/redeliver',
          operationId: 'redeliverEvent',
          tags,
          summary: 'Send an event to a webhook again',
          description:
            "Works whatever the earlier result was, and restarts the full series of attempts. The event's id and body stay the same.",
          protect: true,
          successDescription: 'The queued delivery.',
          errorResponses: {
            ...bodyResponses,
            404: 'The webhook or the event was not found.',
            409: 'The webhook is disabled.',
          },
        },
      })
      .input(DeliveryInput)
      .output(Delivery)
      .mutation(
        withOwnerWrite('manage', 'webhooks', ({ ctx, input }) =>
          redeliver(parts, { input, userId: ownerOf(ctx.caller) }),
        ),
      ),
  })
