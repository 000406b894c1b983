import { z } from 'zod'
import { Confirmation } from '../kernel/wire-types.ts'
import { procedure, router, withAdmin, withScope, withWrite } from '../rpc/trpc.ts'
import { createTopup, getTopup, listAllTopups, listTopups } from './manage-topups.ts'
import { removePaymentMethod } from './payment-account.ts'
import {
  CreateTopupInput,
  ListAllTopupsInput,
  ListAllTopupsOutput,
  ListTopupsInput,
  ListTopupsOutput,
  Topup,
  TopupInput,
} from './topup-schema.ts'

const tags = ['Billing']
const badParameter = 'A parameter is invalid.'
const noPayments = 'The service takes no payments.'

export const topupsRouter = router({
  create: procedure
    .meta({
      isIdempotent: true,
      openapi: {
        method: 'POST',
        path: '/api/topups',
        operationId: 'createTopup',
        tags,
        summary: 'Begin to pay for credit',
        description:
          'The answer has the address of the page where it is paid. It is credited when the payment provider says that it is paid, whatever the browser does.',
        protect: true,
        successDescription: 'The top-up, which is open.',
        errorResponses: {
          400: 'The body is invalid.',
          403: 'Permission is missing.',
          404: noPayments,
          409: 'The Idempotency-Key was used with another body, or too many top-ups are not paid.',
          413: 'The body is too large.',
          415: 'The body is not JSON.',
        },
      },
    })
    .input(CreateTopupInput)
    .output(Topup)
    .mutation(
      withWrite('manage', ({ ctx, input }) =>
        createTopup(ctx.services.payments, { caller: ctx.caller, idempotencyKey: ctx.idempotencyKey, input }),
      ),
    ),

  list: procedure
    .meta({
      openapi: {
        method: 'GET',
        path: '/api/topups',
        operationId: 'listTopups',
        tags,
        summary: "List the caller's top-ups, newest first",
        description: '`next` of one page is the `after` of the one behind it.',
        protect: true,
        successDescription: 'One page of top-ups.',
        errorResponses: { 400: badParameter, 404: noPayments },
      },
    })
    .input(ListTopupsInput)
    .output(ListTopupsOutput)
    .query(
      withScope('read', ({ ctx, input }) => listTopups(ctx.services.payments, { input, userId: ctx.caller.userId })),
    ),

  get: procedure
    .meta({
      openapi: {
        method: 'GET',
        path: '/api/topups/{topupId}',
        operationId: 'getTopup',
        tags,
        summary: 'Get a top-up',
        description:
          'It is credited when its status is `paid`; what was refunded or disputed since is told beside its amount.',
        protect: true,
        successDescription: 'The top-up, with its receipt once it is paid.',
        errorResponses: { 400: badParameter, 404: 'The top-up was not found, or the service takes no payments.' },
      },
    })
    .input(TopupInput)
    .output(Topup)
    .query(
      withScope('read', ({ ctx, input }) =>
        getTopup(ctx.services.payments, { topupId: input.topupId, userId: ctx.caller.userId }),
      ),
    ),

  removeMethod: procedure
    .meta({
      openapi: {
        method: 'DELETE',
        path: '/api/account/payment-method',
        operationId: 'removePaymentMethod',
        tags,
        summary: 'Forget what is paid with',
        description: 'Auto-recharge ends with it.',
        protect: true,
        successDescription: 'Nothing is saved to pay with.',
        errorResponses: { 403: 'Permission is missing.', 404: noPayments },
      },
    })
    .input(z.object({}).optional())
    .output(Confirmation)
    .mutation(
      withWrite('manage', async ({ ctx }) => {
        await removePaymentMethod(ctx.services.payments, ctx.caller.userId)
        return { message: 'Payment method removed' }
      }),
    ),

  listAll: procedure
    .meta({
      openapi: {
        method: 'GET',
        path: '/api/payments',
        operationId: 'listAllTopups',
        tags: ['Users'],
        summary: 'List the top-ups of all users, newest first (admins)',
        description: 'With what came in, went back, is disputed and is owed.',
        protect: true,
        successDescription: 'One page of top-ups, and totals.',
        errorResponses: { 400: badParameter, 403: 'The caller is no admin with a browser login.', 404: noPayments },
      },
    })
    .input(ListAllTopupsInput)
    .output(ListAllTopupsOutput)
    .query(withAdmin(({ ctx, input }) => listAllTopups(ctx.services.payments, input))),
})
