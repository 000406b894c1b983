import type { Catalogue } from '../agents/config/catalogue.ts'
import type { LoginAccess } from '../auth/logins/log-in.ts'
import { PasswordLink } from '../auth/invitations/invitation-schema.ts'
import { createPasswordLink } from '../auth/invitations/manage-invitations.ts'
import { CreatedKey, Key, ListKeysOutput } from '../auth/keys/key-schema.ts'
import { ListTransactionsOutput } from '../account/account-schema.ts'
import { listTransactions } from '../account/list-transactions.ts'
import { procedure, router, withAdmin, withPlatform } from '../procedures/procedure.ts'
import { ListSessionsOutput } from '../chat/sessions/session-schema.ts'
import type { PaymentParts } from '../payments/manage-topups.ts'
import type { ReadTaskParts } from '../tasks/read-task.ts'
import { ListTasksOutput } from '../tasks/task-schema.ts'
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
import { userDataProcedures } from './user-data-procedures.ts'
import { userLoginProcedures } from './user-login-procedures.ts'
import { bodyErrors, meta, platformToo, unknown } from './user-meta.ts'
import { findOwner, getUserTask, listUserSessions, listUserTasks } from './read-runs.ts'
import {
  CreditedUser,
  CreditUserInput,
  CreateUserKeyInput,
  ExternalUserInput,
  ListUserKeysInput,
  ListUsersInput,
  ListUsersOutput,
  ListUserSessionsInput,
  ListUserTasksInput,
  ListUserTransactionsInput,
  OpenedUser,
  OpenExternalUserInput,
  Owner,
  OwnerInput,
  UpdateUserInput,
  User,
  UserInput,
  UserKeyInput,
  UserTask,
  UserTaskInput,
} from './user-schema.ts'

export const usersRouter = ({
  catalogue,
  payments,
  people,
  tasks,
}: {
  catalogue: Catalogue
  payments: PaymentParts
  people: LoginAccess
  tasks: ReadTaskParts
}) =>
  router({
    list: procedure
      .meta({
        openapi: meta({
          method: 'GET',
          path: '/api/users',
          operationId: 'listUsers',
          summary: 'List users (admins, platforms)',
          description:
            'Includes balances and spending. `search` matches the email address or the external id. Platform keys do not see admins.',
          successDescription: 'One page of users and the total.',
          errorResponses: { 400: 'A parameter is invalid.', ...platformToo('users') },
        }),
      })
      .input(ListUsersInput)
      .output(ListUsersOutput)
      .query(
        withPlatform('users', ({ ctx, input }) =>
          listUsers({ ...people, defaultPlan: catalogue.plans.defaultName }, { caller: ctx.caller, input }),
        ),
      ),

    get: procedure
      .meta({
        openapi: meta({
          method: 'GET',
          path: '/api/users/{userId}',
          operationId: 'getUser',
          summary: 'Get a user (admins, platforms)',
          description:
            'Includes the amount held for turns, the amount written off, and the end of any block of the account.',
          successDescription: 'The user, including the balance.',
          errorResponses: { 400: 'A parameter is invalid.', ...unknown, ...platformToo('users') },
        }),
      })
      .input(UserInput)
      .output(User)
      .query(withPlatform('users', ({ ctx, input }) => getUser(people, { caller: ctx.caller, ...input }))),

    getByExternalId: procedure
      .meta({
        openapi: meta({
          method: 'GET',
          path: '/api/users/by-external-id/{externalId}',
          operationId: 'getUserByExternalId',
          summary: 'Get a user by external id (admins, platforms)',
          description: "The external id is your product's own id for the user. It is case-sensitive.",
          successDescription: 'The user, including the balance.',
          errorResponses: { 400: 'A parameter is invalid.', ...unknown, ...platformToo('users') },
        }),
      })
      .input(ExternalUserInput)
      .output(User)
      .query(withPlatform('users', ({ ctx, input }) => getExternalUser(people, { caller: ctx.caller, ...input }))),

    getOrCreate: procedure
      .meta({
        isBodyOptional: true,
        openapi: meta({
          method: 'PUT',
          path: '/api/users/by-external-id/{externalId}',
          operationId: 'getOrCreateUser',
          summary: 'Get or create a user by external id (admins, platforms)',
          description:
            "Concurrent requests create only one user; `created` is true for the request that created it. Only that request's `email` is used.",
          successDescription: 'The user, including the balance.',
          errorResponses: {
            ...bodyErrors,
            ...platformToo('users'),
            404: 'The user is an admin, whom platform keys cannot access.',
            409: 'Another user has this email address, or the platform key has created a million users.',
          },
        }),
      })
      .input(OpenExternalUserInput)
      .output(OpenedUser)
      .mutation(withPlatform('users', ({ ctx, input }) => openExternalUser(people, { caller: ctx.caller, input }))),

    update: procedure
      .meta({
        openapi: meta({
          method: 'PATCH',
          path: '/api/users/{userId}',
          operationId: 'updateUser',
          summary: 'Update a user: suspension, admin rights, plan and limits (admins, platforms)',
          description:
            "Suspending a user rejects all of the user's requests and ends all browser logins. New `plan` and `limits` apply to the next execution and to the further cost of turns in progress. A platform key can suspend users (scope `users`), and set their plan and limits up to those of the plan (scope `limits`), but cannot change admin rights.",
          successDescription: 'The updated user.',
          errorResponses: {
            ...bodyErrors,
            ...unknown,
            ...platformToo('users'),
            409: 'This is the last active admin.',
          },
        }),
      })
      .input(UpdateUserInput)
      .output(User)
      .mutation(
        withPlatform(['users', 'limits'], ({ ctx, input }) =>
          updateUser({ ...people, catalogue }, { caller: ctx.caller, input }),
        ),
      ),

    unblock: procedure
      .meta({
        isBodyOptional: true,
        openapi: meta({
          method: 'POST',
          path: '/api/users/{userId}/unblock',
          operationId: 'unblockUser',
          summary: 'Lift an abuse block (admins)',
          description: 'The account can create tasks again immediately.',
          successDescription: 'The user, no longer blocked.',
          errorResponses: { ...bodyErrors, ...unknown },
        }),
      })
      .input(UserInput)
      .output(User)
      .mutation(withAdmin(({ ctx, input }) => unblockUser(people, { caller: ctx.caller, input }))),

    ...userDataProcedures({ payments, people }),
    ...userLoginProcedures(people),

    credit: procedure
      .meta({
        isIdempotent: true,
        openapi: meta({
          method: 'POST',
          path: '/api/users/{userId}/credit',
          operationId: 'creditUser',
          summary: "Credit or adjust a user's balance (admins, platforms)",
          description:
            'A negative amount is an adjustment. The user sees `reason` as the description of the transaction. A platform key can have a credit limit per UTC day; taking credit back does not free any of it.',
          successDescription: 'The transaction id and the new balance.',
          errorResponses: {
            ...bodyErrors,
            ...unknown,
            403: `${platformToo('credit')[403]} Or the platform key has reached its credit limit for today.`,
            409: 'The Idempotency-Key was already used with a different amount.',
          },
        }),
      })
      .input(CreditUserInput)
      .output(CreditedUser)
      .mutation(
        withPlatform('credit', ({ ctx, input }) =>
          creditUser(people, { caller: ctx.caller, idempotencyKey: ctx.idempotencyKey, input }),
        ),
      ),

    transactions: procedure
      .meta({
        openapi: meta({
          method: 'GET',
          path: '/api/users/{userId}/transactions',
          operationId: 'listUserTransactions',
          summary: "List a user's transactions, newest first (admins)",
          description: 'Returns the same transactions that the user sees.',
          successDescription: 'One page of transactions and the total.',
          errorResponses: { 400: 'A parameter is invalid.', ...unknown },
        }),
      })
      .input(ListUserTransactionsInput)
      .output(ListTransactionsOutput)
      .query(
        withAdmin(async ({ ctx, input }) => {
          await getUser(people, { caller: ctx.caller, userId: input.userId })
          const { userId, ...rest } = input
          return await listTransactions(people.store, { input: rest, userId })
        }),
      ),

    findOwner: procedure
      .meta({
        openapi: meta({
          method: 'GET',
          path: '/api/admin/owners/{resourceId}',
          operationId: 'findOwner',
          summary: 'Find the owner of a resource by its id (admins)',
          description:
            'Accepts ids of users, tasks, sessions, turns, transactions, top-ups, API keys, connectors and webhooks.',
          successDescription: 'The type of the resource and its user.',
          errorResponses: { 400: 'A parameter is invalid.', 404: 'No resource has this id.' },
        }),
      })
      .input(OwnerInput)
      .output(Owner)
      .query(withAdmin(({ input }) => findOwner(people.store, input.resourceId))),

    tasks: procedure
      .meta({
        openapi: meta({
          method: 'GET',
          path: '/api/users/{userId}/tasks',
          operationId: 'listUserTasks',
          summary: "List a user's tasks, newest first (admins)",
          description: 'Has the filters of `listTasks`, except the search in inputs.',
          successDescription: 'One page of tasks and the total.',
          errorResponses: { 400: 'A parameter is invalid.', ...unknown },
        }),
      })
      .input(ListUserTasksInput)
      .output(ListTasksOutput)
      .query(withAdmin(({ input }) => listUserTasks(people.store, input))),

    task: procedure
      .meta({
        openapi: meta({
          method: 'GET',
          path: '/api/users/{userId}/tasks/{taskId}',
          operationId: 'getUserTask',
          summary: "Get a user's task, without its input and output (admins)",
          description: 'Returns the progress and cost of the task. Only the user can read its input and output.',
          successDescription: 'The task.',
          errorResponses: { 400: 'A parameter is invalid.', 404: 'The user or the task was not found.' },
        }),
      })
      .input(UserTaskInput)
      .output(UserTask)
      .query(withAdmin(({ input }) => getUserTask(tasks, input))),

    sessions: procedure
      .meta({
        openapi: meta({
          method: 'GET',
          path: '/api/users/{userId}/sessions',
          operationId: 'listUserSessions',
          summary: "List a user's sessions, newest first (admins)",
          description: 'Omits messages and metadata, which only the user can read.',
          successDescription: 'One page of sessions and the total.',
          errorResponses: { 400: 'A parameter is invalid.', ...unknown },
        }),
      })
      .input(ListUserSessionsInput)
      .output(ListSessionsOutput)
      .query(withAdmin(({ input }) => listUserSessions(people.store, input))),

    createKey: procedure
      .meta({
        openapi: meta({
          method: 'POST',
          path: '/api/users/{userId}/keys',
          operationId: 'createUserKey',
          summary: 'Create an API key for a user (admins, platforms)',
          description:
            'The key can have the scopes `read` and `execute`. The response contains the key itself, which is never shown again.',
          successDescription: 'The new key.',
          errorResponses: { ...bodyErrors, ...unknown, ...platformToo('act'), 409: 'The account has too many keys.' },
        }),
      })
      .input(CreateUserKeyInput)
      .output(CreatedKey)
      .mutation(
        withPlatform('act', ({ ctx, input }) => createUserKey({ ...people, catalogue }, { caller: ctx.caller, input })),
      ),

    listKeys: procedure
      .meta({
        openapi: meta({
          method: 'GET',
          path: '/api/users/{userId}/keys',
          operationId: 'listUserKeys',
          summary: "List a user's API keys, newest first (admins, platforms)",
          description: 'Each item includes the last four characters of the key.',
          successDescription: 'One page of keys and the total.',
          errorResponses: { 400: 'A parameter is invalid.', ...unknown, ...platformToo('users') },
        }),
      })
      .input(ListUserKeysInput)
      .output(ListKeysOutput)
      .query(withPlatform('users', ({ ctx, input }) => listUserKeys(people, { caller: ctx.caller, input }))),

    revokeKey: procedure
      .meta({
        openapi: meta({
          method: 'DELETE',
          path: '/api/users/{userId}/keys/{keyId}',
          operationId: 'revokeUserKey',
          summary: "Revoke a user's API key (admins, platforms)",
          description: 'Takes effect with the next request. Idempotent.',
          successDescription: 'The revoked key.',
          errorResponses: {
            400: 'A parameter is invalid.',
            404: 'The user or the key was not found.',
            ...platformToo('users'),
          },
        }),
      })
      .input(UserKeyInput)
      .output(Key)
      .mutation(withPlatform('users', ({ ctx, input }) => revokeUserKey(people, { caller: ctx.caller, input }))),

    createPasswordLink: procedure
      .meta({
        isBodyOptional: true,
        openapi: meta({
          method: 'POST',
          path: '/api/users/{userId}/password-link',
          operationId: 'createPasswordLink',
          summary: 'Create a link for a user to set a password (admins)',
          description: 'The person who opens the link sets a new password and is logged in to the account.',
          successDescription: 'The link, which works once and expires after a day.',
          errorResponses: { ...bodyErrors, ...unknown },
        }),
      })
      .input(UserInput)
      .output(PasswordLink)
      .mutation(
        withAdmin(({ ctx, input }) =>
          createPasswordLink(people, { browser: ctx, caller: ctx.caller, userId: input.userId }),
        ),
      ),
  })
