import { z } from 'zod'
import { must } from '../kernel/assert.ts'
import { isoTime } from '../kernel/clock.ts'
import { formatUsd } from '../kernel/money.ts'
import { procedure, router, withScope } from '../rpc/trpc.ts'
import { Account } from './billing-schema.ts'

export const accountRouter = router({
  get: procedure
    .meta({
      openapi: {
        method: 'GET',
        path: '/api/account',
        operationId: 'getAccount',
        tags: ['Billing'],
        summary: "Get the caller's account",
        protect: true,
        successDescription: 'The account with its balance.',
        errorResponses: {},
      },
    })
    .input(z.object({}).optional())
    .output(Account)
    .query(
      withScope('read', async ({ ctx }): Promise<Account> => {
        const { clock, store } = ctx.services
        const account = must(await store.getAccount(ctx.caller.userId), 'an authenticated user has an account')
        const { userId, email, balance, held, blockedUntil } = account
        const isBlocked = blockedUntil !== null && blockedUntil > clock.now()
        return {
          userId,
          email,
          balanceUsd: formatUsd(balance),
          heldUsd: formatUsd(held),
          blockedUntil: isBlocked ? isoTime(blockedUntil) : null,
        }
      }),
    ),
})
