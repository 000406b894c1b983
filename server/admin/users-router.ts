import { PasswordLink } from '../auth/invitations/invitation-schema.ts'
import { createPasswordLink } from '../auth/invitations/manage-invitations.ts'
import { CreatedKey, Key, ListKeysOutput } from '../auth/keys/key-schema.ts'
import { ListTransactionsOutput } from '../billing/billing-schema.ts'
import { listTransactions } from '../billing/list-transactions.ts'
import { procedure, router, withAdmin, withPlatform, type RestMeta } from '../rpc/trpc.ts'
import type { PlatformScope } from '../store/platform/platform-records.ts'
import { createUserKey, listUserKeys, revokeUserKey } from './manage-user-keys.ts'
import {
  creditUser,
  getExternalUser,
  getUser,
  listUsers,
  openExternalUser,
  unblockUser,
  updateUser,
} from './manage-users.ts'
import {
  CreditedUser,
  CreditUserInput,
  CreateUserKeyInput,
  ExternalUserInput,
  ListUserKeysInput,
  ListUsersInput,
  ListUsersOutput,
  ListUserTransactionsInput,
  OpenedUser,
  OpenExternalUserInput,
  UpdateUserInput,
  User,
  UserInput,
  UserKeyInput,
} from './user-schema.ts'

const bodyErrors = { 400: 'The body is invalid.', 413: 'The body is too large.', 415: 'The body is not JSON.' }
const adminOnly = { 403: 'The caller is no admin with a browser login.' }
const platformToo = (scope: PlatformScope) => ({
  403: `The caller is neither an admin with a browser login nor a platform key with the scope \`${scope}\`.`,
})
const unknown = { 404: 'The user was not found.' }

function meta(
  own: Pick<
    RestMeta,
    'method' | 'path' | 'operationId' | 'summary' | 'description' | 'successDescription' | 'errorResponses'
  >,
) {
  return { ...own, tags: ['Users'], protect: true, errorResponses: { ...adminOnly, ...own.errorResponses } }
}

export const usersRouter = router({
  list: procedure
    .meta({
      openapi: meta({
        method: 'GET',
        path: '/api/users',
        operationId: 'listUsers',
        summary: 'List users in the order in which they came (admins, platforms)',
        description:
          'With their balances; `search` finds a user by the email address or the external id. To a platform key there are no admins.',
        successDescription: 'One page of users and the total.',
        errorResponses: { 400: 'A parameter is invalid.', ...platformToo('users') },
      }),
    })
    .input(ListUsersInput)
    .output(ListUsersOutput)
    .query(withPlatform('users', ({ ctx, input }) => listUsers(ctx.services.people, { caller: ctx.caller, input }))),

  get: procedure
    .meta({
      openapi: meta({
        method: 'GET',
        path: '/api/users/{userId}',
        operationId: 'getUser',
        summary: 'Get a user (admins, platforms)',
        description:
          'Also what chats hold of the balance, what was written off, and until when the account is blocked.',
        successDescription: 'The user with the balance.',
        errorResponses: { 400: 'A parameter is invalid.', ...unknown, ...platformToo('users') },
      }),
    })
    .input(UserInput)
    .output(User)
    .query(withPlatform('users', ({ ctx, input }) => getUser(ctx.services.people, { caller: ctx.caller, ...input }))),

  getByExternalId: procedure
    .meta({
      openapi: meta({
        method: 'GET',
        path: '/api/users/by-external-id/{externalId}',
        operationId: 'getUserByExternalId',
        summary: 'Get a user by the id of a product (admins, platforms)',
        description: 'The external id is compared exactly, with case.',
        successDescription: 'The user with the balance.',
        errorResponses: { 400: 'A parameter is invalid.', ...unknown, ...platformToo('users') },
      }),
    })
    .input(ExternalUserInput)
    .output(User)
    .query(
      withPlatform('users', ({ ctx, input }) => getExternalUser(ctx.services.people, { caller: ctx.caller, ...input })),
    ),

  getOrCreate: procedure
    .meta({
      isBodyOptional: true,
      openapi: meta({
        method: 'PUT',
        path: '/api/users/by-external-id/{externalId}',
        operationId: 'getOrCreateUser',
        summary: 'Get a user by the id of a product, or make it (admins, platforms)',
        description:
          'However many ask at once, one user with one account is made; `created` says by whom. `email` counts only then.',
        successDescription: 'The user with the balance.',
        errorResponses: {
          ...bodyErrors,
          ...platformToo('users'),
          404: 'The user is an admin, whom a platform key does not reach.',
          409: 'Another user has this email address, or the platform key has made a million users.',
        },
      }),
    })
    .input(OpenExternalUserInput)
    .output(OpenedUser)
    .mutation(
      withPlatform('users', ({ ctx, input }) => openExternalUser(ctx.services.people, { caller: ctx.caller, input })),
    ),

  update: procedure
    .meta({
      openapi: meta({
        method: 'PATCH',
        path: '/api/users/{userId}',
        operationId: 'updateUser',
        summary:
          'Suspend a user, end the suspension, change who is an admin, or what a user may do (admins, platforms)',
        description:
          'A suspended user can do nothing, and all browser logins end. `plan` and `limits` hold from the next execution on, and of chats under way for what they may still spend. A platform key suspends users (scope `users`), limits them (scope `limits`), and changes no admins.',
        successDescription: 'The user as it is now.',
        errorResponses: {
          ...bodyErrors,
          ...unknown,
          ...platformToo('users'),
          409: 'It is the last admin who can act.',
        },
      }),
    })
    .input(UpdateUserInput)
    .output(User)
    .mutation(
      withPlatform(['users', 'limits'], ({ ctx, input }) => {
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
        summary: "Add to a user's balance, or take from it (admins, platforms)",
        description:
          'A negative amount is an adjustment. `reason` stands in the transaction, which the user sees. A platform key may have a ceiling of what it adds in a day of UTC, which nothing that it takes away raises.',
        successDescription: 'The transaction and the balance after it.',
        errorResponses: {
          ...bodyErrors,
          ...unknown,
          403: `${platformToo('credit')[403]} Or it has credited as much as it may today.`,
          409: 'The Idempotency-Key was used with another amount.',
        },
      }),
    })
    .input(CreditUserInput)
    .output(CreditedUser)
    .mutation(
      withPlatform('credit', ({ ctx, input }) =>
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
        await getUser(ctx.services.people, { caller: ctx.caller, userId: input.userId })
        const { userId, ...rest } = input
        return await listTransactions(ctx.services.people.store, { input: rest, userId })
      }),
    ),

  createKey: procedure
    .meta({
      openapi: meta({
        method: 'POST',
        path: '/api/users/{userId}/keys',
        operationId: 'createUserKey',
        summary: "Create an API key of a user's (admins, platforms)",
        description:
          'With what a platform may do in the name of a user: `read`, `execute` or both. The key itself is in this answer and is never shown again.',
        successDescription: 'The new key.',
        errorResponses: { ...bodyErrors, ...unknown, ...platformToo('act'), 409: 'The account has too many keys.' },
      }),
    })
    .input(CreateUserKeyInput)
    .output(CreatedKey)
    .mutation(
      withPlatform('act', ({ ctx, input }) => {
        const { catalogue, people } = ctx.services
        return createUserKey({ ...people, catalogue }, { caller: ctx.caller, input })
      }),
    ),

  listKeys: procedure
    .meta({
      openapi: meta({
        method: 'GET',
        path: '/api/users/{userId}/keys',
        operationId: 'listUserKeys',
        summary: "List a user's API keys, newest first (admins, platforms)",
        description: 'Each with the last four characters of its key.',
        successDescription: 'One page of keys and the total.',
        errorResponses: { 400: 'A parameter is invalid.', ...unknown, ...platformToo('users') },
      }),
    })
    .input(ListUserKeysInput)
    .output(ListKeysOutput)
    .query(withPlatform('users', ({ ctx, input }) => listUserKeys(ctx.services.people, { caller: ctx.caller, input }))),

  revokeKey: procedure
    .meta({
      openapi: meta({
        method: 'DELETE',
        path: '/api/users/{userId}/keys/{keyId}',
        operationId: 'revokeUserKey',
        summary: "Revoke a user's API key (admins, platforms)",
        description: 'Acts on the next request. Repeating it changes nothing.',
        successDescription: 'The key, revoked.',
        errorResponses: {
          400: 'A parameter is invalid.',
          404: 'The user or the key was not found.',
          ...platformToo('users'),
        },
      }),
    })
    .input(UserKeyInput)
    .output(Key)
    .mutation(
      withPlatform('users', ({ ctx, input }) => revokeUserKey(ctx.services.people, { caller: ctx.caller, input })),
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
