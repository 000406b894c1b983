import { PasswordLink } from '../auth/invitations/invitation-schema.ts'
import { createPasswordLink } from '../auth/invitations/manage-invitations.ts'
import { ListTransactionsOutput } from '../billing/billing-schema.ts'
import { listTransactions } from '../billing/list-transactions.ts'
import { procedure, router, withAdmin, type RestMeta } from '../rpc/trpc.ts'
import { creditUser, getUser, listUsers, unblockUser, updateUser } from './manage-users.ts'
import {
  CreditedUser,
  CreditUserInput,
  ListUsersInput,
  ListUsersOutput,
  ListUserTransactionsInput,
  UpdateUserInput,
  User,
  UserInput,
} from './user-schema.ts'

const bodyErrors = { 400: 'The body is invalid.', 413: 'The body is too large.', 415: 'The body is not JSON.' }
const adminOnly = { 403: 'The caller is no admin with a browser login.' }
const unknown = { 404: 'The user was not found.' }

function meta(
  own: Pick<
    RestMeta,
    'method' | 'path' | 'operationId' | 'summary' | 'description' | 'successDescription' | 'errorResponses'
  >,
) {
  return { ...own, tags: ['Users'], protect: true, errorResponses: { ...own.errorResponses, ...adminOnly } }
}

export const usersRouter = router({
  list: procedure
    .meta({
      openapi: meta({
        method: 'GET',
        path: '/api/users',
        operationId: 'listUsers',
        summary: 'List users in the order in which they came (admins)',
        description: 'With their balances; `search` finds a user by the email address.',
        successDescription: 'One page of users and the total.',
        errorResponses: { 400: 'A parameter is invalid.' },
      }),
    })
    .input(ListUsersInput)
    .output(ListUsersOutput)
    .query(withAdmin(({ ctx, input }) => listUsers(ctx.services.people, input))),

  get: procedure
    .meta({
      openapi: meta({
        method: 'GET',
        path: '/api/users/{userId}',
        operationId: 'getUser',
        summary: 'Get a user (admins)',
        description:
          'Also what chats hold of the balance, what was written off, and until when the account is blocked.',
        successDescription: 'The user with the balance.',
        errorResponses: { 400: 'A parameter is invalid.', ...unknown },
      }),
    })
    .input(UserInput)
    .output(User)
    .query(withAdmin(({ ctx, input }) => getUser(ctx.services.people, input.userId))),

  update: procedure
    .meta({
      openapi: meta({
        method: 'PATCH',
        path: '/api/users/{userId}',
        operationId: 'updateUser',
        summary: 'Suspend a user, end the suspension, change who is an admin, or what a user may do (admins)',
        description:
          'A suspended user can do nothing, and all browser logins end. `plan` and `limits` hold from the next execution on; what is under way goes on within them.',
        successDescription: 'The user as it is now.',
        errorResponses: { ...bodyErrors, ...unknown, 409: 'It is the last admin who can act.' },
      }),
    })
    .input(UpdateUserInput)
    .output(User)
    .mutation(
      withAdmin(({ ctx, input }) => {
        const { catalogue, people } = ctx.services
        return updateUser({ ...people, catalogue }, { caller: ctx.caller, input })
      }),
    ),

  unblock: procedure
    .meta({
      isBodyOptional: true,
      openapi: meta({
        method: 'POST',
        path: '/api/users/{userId}/unblock',
        operationId: 'unblockUser',
        summary: 'Lift an abuse block (admins)',
        description: 'The account may create tasks again at once.',
        successDescription: 'The user, not blocked.',
        errorResponses: { ...bodyErrors, ...unknown },
      }),
    })
    .input(UserInput)
    .output(User)
    .mutation(withAdmin(({ ctx, input }) => unblockUser(ctx.services.people, { caller: ctx.caller, input }))),

  credit: procedure
    .meta({
      isIdempotent: true,
      openapi: meta({
        method: 'POST',
        path: '/api/users/{userId}/credit',
        operationId: 'creditUser',
        summary: "Add to a user's balance, or take from it (admins)",
        description: 'A negative amount is an adjustment. `reason` stands in the transaction, which the user sees.',
        successDescription: 'The transaction and the balance after it.',
        errorResponses: { ...bodyErrors, ...unknown, 409: 'The Idempotency-Key was used with another amount.' },
      }),
    })
    .input(CreditUserInput)
    .output(CreditedUser)
    .mutation(
      withAdmin(({ ctx, input }) =>
        creditUser(ctx.services.people, { caller: ctx.caller, idempotencyKey: ctx.idempotencyKey, input }),
      ),
    ),

  transactions: procedure
    .meta({
      openapi: meta({
        method: 'GET',
        path: '/api/users/{userId}/transactions',
        operationId: 'listUserTransactions',
        summary: "List a user's transactions, newest first (admins)",
        description: 'The ledger of the account, as the user sees it.',
        successDescription: 'One page of transactions and the total.',
        errorResponses: { 400: 'A parameter is invalid.', ...unknown },
      }),
    })
    .input(ListUserTransactionsInput)
    .output(ListTransactionsOutput)
    .query(
      withAdmin(async ({ ctx, input }) => {
        await getUser(ctx.services.people, input.userId)
        const { userId, ...rest } = input
        return await listTransactions(ctx.services.people.store, { input: rest, userId })
      }),
    ),

  createPasswordLink: procedure
    .meta({
      isBodyOptional: true,
      openapi: meta({
        method: 'POST',
        path: '/api/users/{userId}/password-link',
        operationId: 'createPasswordLink',
        summary: 'Make a link by which a user sets a password (admins)',
        description: 'Whoever opens the link sets a new password and is logged in to the account.',
        successDescription: 'The link, which works once and for a day.',
        errorResponses: { ...bodyErrors, ...unknown },
      }),
    })
    .input(UserInput)
    .output(PasswordLink)
    .mutation(
      withAdmin(({ ctx, input }) =>
        createPasswordLink(ctx.services.people, { browser: ctx, caller: ctx.caller, userId: input.userId }),
      ),
    ),
})
