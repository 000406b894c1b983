import type { LoginAccess } from '../auth/logins/log-in.ts'
import type { PaymentParts } from '../payments/manage-topups.ts'
import { procedure, withPlatform } from '../procedures/procedure.ts'
import { eraseUser } from './manage-users.ts'
import { bodyErrors, meta, platformToo, unknown } from './user-meta.ts'
import { ErasedUser, EraseUserInput } from './user-schema.ts'

export const userDataProcedures = ({ payments, people }: { payments: PaymentParts; people: LoginAccess }) => ({
  erase: procedure
    .meta({
      isBodyOptional: true,
      openapi: meta({
        method: 'POST',
        path: '/api/users/{userId}/erase',
        operationId: 'eraseUser',
        summary: 'Erase a user (admins, platforms)',
        description:
          'Ends all access immediately and cannot be undone. The contents of tasks and chats are deleted within minutes. Transactions remain, without a name. A saved payment method is removed at the payment provider first. If that fails, the response is 503 and nothing is erased, unless an admin sends `leaveSavedMethod`. Idempotent. A platform key needs the `users` scope.',
        successDescription: 'The erased user.',
        errorResponses: {
          ...bodyErrors,
          ...unknown,
          ...platformToo('users'),
          409: 'The account has work in progress, a debt, an unpaid top-up, a disputed payment or a balance that `forfeitBalanceUsd` does not match, or it is the last active admin.',
        },
      }),
    })
    .input(EraseUserInput)
    .output(ErasedUser)
    .mutation(
      withPlatform('users', ({ ctx, input }) =>
        eraseUser({ ...people, port: payments.port }, { caller: ctx.caller, input }),
      ),
    ),
})
