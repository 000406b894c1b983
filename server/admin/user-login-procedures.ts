import { ListLoginsOutput } from '../auth/logins/login-schema.ts'
import type { LoginAccess } from '../auth/logins/log-in.ts'
import { listLogins } from '../auth/logins/manage-logins.ts'
import { ErrandError } from '../kernel/errors.ts'
import { Confirmation } from '../kernel/wire-types.ts'
import { procedure, withAdmin } from '../procedures/procedure.ts'
import { getUser, noteChange } from './manage-users.ts'
import { meta, unknown } from './user-meta.ts'
import { ListUserLoginsInput, UserLoginInput } from './user-schema.ts'

export const userLoginProcedures = (people: LoginAccess) => ({
  listLogins: procedure
    .meta({
      openapi: meta({
        method: 'GET',
        path: '/api/users/{userId}/logins',
        operationId: 'listUserLogins',
        summary: "List a user's browser logins, newest first (admins)",
        description: 'Lists only active logins. The audit log contains ended and failed ones.',
        successDescription: 'One page of active logins, and the total.',
        errorResponses: { 400: 'A parameter is invalid.', ...unknown },
      }),
    })
    .input(ListUserLoginsInput)
    .output(ListLoginsOutput)
    .query(
      withAdmin(async ({ ctx, input }) => {
        await getUser(people, { caller: ctx.caller, userId: input.userId })
        return await listLogins(people, { caller: ctx.caller, ...input })
      }),
    ),

  endLogin: procedure
    .meta({
      openapi: meta({
        method: 'DELETE',
        path: '/api/users/{userId}/logins/{loginId}',
        operationId: 'endUserLogin',
        summary: "End a user's browser login (admins)",
        description: 'Takes effect with the next request of that browser. The user can log in again.',
        successDescription: 'The login was ended.',
        errorResponses: { 400: 'A parameter is invalid.', 404: 'The user or the login was not found.' },
      }),
    })
    .input(UserLoginInput)
    .output(Confirmation)
    .mutation(
      withAdmin(async ({ ctx, input }) => {
        const { userId } = input
        await getUser(people, { caller: ctx.caller, userId })
        if (!(await people.store.endLogin(input))) throw new ErrandError('NOT_FOUND', 'Login not found. Check the id.')
        noteChange(people, { caller: ctx.caller, userId }, "ended a user's login")
        return { message: 'The login was ended.' }
      }),
    ),
})
