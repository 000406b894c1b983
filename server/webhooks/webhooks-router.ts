import { Confirmation } from '../kernel/wire-types.ts'
import { procedure, router, withScope, withWrite } from '../rpc/trpc.ts'
import {
  createWebhook,
  deleteWebhook,
  getWebhook,
  listDeliveries,
  listWebhooks,
  redeliver,
  rotateWebhook,
  testWebhook,
  updateWebhook,
} from './manage-webhooks.ts'
import {
  CreatedWebhook,
  CreateWebhookInput,
  Delivery,
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
  403: 'Permission is missing.',
  413: 'The body is too large.',
  415: 'The body is not JSON.',
}

const neverLeft = new AbortController().signal

export const webhooksRouter = router({
  create: procedure
    .meta({
      openapi: {
        method: 'POST',
        path: '/api/webhooks',
        operationId: 'createWebhook',
        tags,
        summary: 'Have events sent to an address',
        description:
          'Events are sent as Standard Webhooks 1.0 has it, signed with the secret of this answer, which is never shown again. With `url` null it is the one webhook that signs for the `webhookUrl` of tasks.',
        protect: true,
        successDescription: 'The new webhook, with its secret.',
        errorResponses: { ...bodyResponses, 409: 'There are too many webhooks, or one for the addresses of tasks.' },
      },
    })
    .input(CreateWebhookInput)
    .output(CreatedWebhook)
    .mutation(
      withWrite('manage', ({ ctx, input }) =>
        createWebhook(ctx.services.webhooks, { input, userId: ctx.caller.userId }),
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
        description: 'Among them is that of the addresses that tasks name, whose `url` is null. None has its secret.',
        protect: true,
        successDescription: 'One page of webhooks and the total.',
        errorResponses: { 400: badParameter },
      },
    })
    .input(ListWebhooksInput)
    .output(ListWebhooksOutput)
    .query(
      withScope('read', ({ ctx, input }) =>
        listWebhooks(ctx.services.webhooks, { ...input, userId: ctx.caller.userId }),
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
        description: 'With whether it is enabled, and since when it has been failing.',
        protect: true,
        successDescription: 'The webhook, without its secret.',
        errorResponses: { 400: badParameter, 404: notFound },
      },
    })
    .input(WebhookInput)
    .output(Webhook)
    .query(
      withScope('read', ({ ctx, input }) => getWebhook(ctx.services.webhooks, { ...input, userId: ctx.caller.userId })),
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
          'Fields that are left out stay as they are. What waits for a webhook that is disabled is never sent, and neither is what happens meanwhile.',
        protect: true,
        successDescription: 'The webhook as it is now.',
        errorResponses: { ...bodyResponses, 404: notFound },
      },
    })
    .input(UpdateWebhookInput)
    .output(Webhook)
    .mutation(
      withWrite('manage', ({ ctx, input }) =>
        updateWebhook(ctx.services.webhooks, { input, userId: ctx.caller.userId }),
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
        description: 'What waits for it is never sent.',
        protect: true,
        successDescription: 'The webhook was deleted.',
        errorResponses: { 400: badParameter, 403: 'Permission is missing.', 404: notFound },
      },
    })
    .input(WebhookInput)
    .output(Confirmation)
    .mutation(
      withWrite('manage', async ({ ctx, input }) => {
        await deleteWebhook(ctx.services.webhooks, { ...input, userId: ctx.caller.userId })
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
        summary: 'Give a webhook a new secret',
        description: 'For the overlap requests have two signatures: of the new secret, and of the one before.',
        protect: true,
        successDescription: 'The webhook with its new secret, which is never shown again.',
        errorResponses: { ...bodyResponses, 404: notFound, 409: 'The webhook was changed meanwhile.' },
      },
    })
    .input(RotateWebhookInput)
    .output(CreatedWebhook)
    .mutation(
      withWrite('manage', ({ ctx, input }) =>
        rotateWebhook(ctx.services.webhooks, { input, userId: ctx.caller.userId }),
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
          'Sends an event of the type `webhook.test` at once, and once, and answers what became of that. Also to one that is disabled.',
        protect: true,
        successDescription: 'The delivery.',
        errorResponses: { ...bodyResponses, 404: notFound, 409: 'The webhook has no address of its own.' },
      },
    })
    .input(WebhookInput)
    .output(Delivery)
    .mutation(
      withWrite('manage', ({ ctx, input, signal = neverLeft }) =>
        testWebhook(ctx.services.webhooks, { ...input, userId: ctx.caller.userId, signal }),
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
        description: 'They are kept for seven days. `next` of one page is the `after` of the one behind it.',
        protect: true,
        successDescription: 'One page of deliveries.',
        errorResponses: { 400: badParameter, 404: notFound },
      },
    })
    .input(ListDeliveriesInput)
    .output(ListDeliveriesOutput)
    .query(
      withScope('read', ({ ctx, input }) =>
        listDeliveries(ctx.services.webhooks, { input, userId: ctx.caller.userId }),
      ),
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
        description: 'Whatever became of it before; it has all its attempts again. Its id and its body are the same.',
        protect: true,
        successDescription: 'The delivery, which is due.',
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
      withWrite('manage', ({ ctx, input }) => redeliver(ctx.services.webhooks, { input, userId: ctx.caller.userId })),
    ),
})
