import { createTopup, getTopup, listAllTopups, listTopups, type PaymentParts } from './manage-topups.ts'
import { z } from 'zod'
import { Confirmation } from '../kernel/wire-types.ts'
import { procedure, router, withAdmin, withScope, withWrite } from '../procedures/procedure.ts'
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
const noPayments = 'The service does not accept payments.'

export const topupsRouter = (parts: PaymentParts) =>
  router({
    create: procedure
      .meta({
        isIdempotent: true,
        openapi: {
          method: 'POST',
          path: '/api/topups',
          operationId: 'createTopup',
          tags,
          summary: 'Create a top-up',
          description:
            'The response contains the URL of the payment page. The top-up is credited when the payment provider confirms the payment, regardless of where the browser goes.',
          protect: true,
          successDescription: 'The open top-up.',
          errorResponses: {
            400: 'The body is invalid.',
            403: 'The caller lacks permission.',
            404: noPayments,
            409: 'The Idempotency-Key was already used with a different body, or the account already has the maximum number of unpaid top-ups.',
            413: 'The body is too large.',
            415: 'The body is not JSON.',
          },
        },
      })
      .input(CreateTopupInput)
      .output(Topup)
      .mutation(
        withWrite(
          ['manage', 'pay'],
          ({ ctx, input }) => createTopup(parts, { caller: ctx.caller, idempotencyKey: ctx.idempotencyKey, input }),
          'account',
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
          description: 'To get the next page, send `next` as `after`.',
          protect: true,
          successDescription: 'One page of top-ups.',
          errorResponses: { 400: badParameter, 404: noPayments },
        },
      })
      .input(ListTopupsInput)
      .output(ListTopupsOutput)
      .query(withScope('read', ({ ctx, input }) => listTopups(parts, { input, userId: ctx.caller.userId }), 'account')),

    get: procedure
      .meta({
        openapi: {
          method: 'GET',
          path: '/api/topups/{topupId}',
          operationId: 'getTopup',
          tags,
          summary: 'Get a top-up',
          description:
            'A top-up with the status `paid` is credited. Amounts that are refunded or disputed later have their own fields.',
          protect: true,
          successDescription: 'The top-up, with its receipt once it is paid.',
          errorResponses: {
            400: badParameter,
            404: 'The top-up was not found, or the service does not accept payments.',
          },
        },
      })
      .input(TopupInput)
      .output(Topup)
      .query(
        withScope(
          'read',
          ({ ctx, input }) => getTopup(parts, { topupId: input.topupId, userId: ctx.caller.userId }),
          'account',
        ),
      ),

    removeMethod: procedure
      .meta({
        openapi: {
          method: 'DELETE',
          path: '/api/account/payment-method',
          operationId: 'removePaymentMethod',
          tags,
          summary: 'Remove the saved payment method',
          description: 'Also turns auto-recharge off.',
          protect: true,
          successDescription: 'The payment method was removed.',
          errorResponses: { 403: 'The caller lacks permission.', 404: noPayments },
        },
      })
      .input(z.object({}).optional())
      .output(Confirmation)
      .mutation(
        withWrite(['manage', 'pay'], async ({ ctx }) => {
          await removePaymentMethod(parts, ctx.caller.userId)
          return { message: 'Payment method removed' }
        }),
      ),

    listAll: procedure
      .meta({
        isTable: true,
        openapi: {
          method: 'GET',
          path: '/api/payments',
          operationId: 'listAllTopups',
          tags: ['Users'],
          summary: 'List the top-ups of all users, newest first (admins)',
          description:
            'Includes the total and daily payments, refunds and disputes of a period, and the current debt. Lists all top-ups, or only those created in the period if `from` or `to` is set. With `Accept: text/csv`, returns this page of top-ups as CSV. For the next page, set `after` to the last `id`.',
          protect: true,
          successDescription: 'One page of top-ups and the totals.',
          errorResponses: {
            400: badParameter,
            403: 'The caller is not an admin with a browser login.',
            404: noPayments,
          },
        },
      })
      .input(ListAllTopupsInput)
      .output(ListAllTopupsOutput)
      .query(withAdmin(({ input }) => listAllTopups(parts, input))),
  })
