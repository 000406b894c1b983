import type { LoginAccess } from './log-in.ts'
import { z } from 'zod'
import { ErrandError } from '../../kernel/errors.ts'
import { Confirmation } from '../../kernel/wire-types.ts'
import { procedure, router, withScope } from '../../procedures/procedure.ts'
import { listLogins, logOutEverywhere } from './manage-logins.ts'
import { EndLoginInput, ListLoginsInput, ListLoginsOutput } from './login-schema.ts'

const tags = ['Browser login']

export const loginsRouter = (people: LoginAccess) =>
  router({
    list: procedure
      .meta({
        openapi: {
          method: 'GET',
          path: '/api/logins',
          operationId: 'listLogins',
          tags,
          summary: "List the browser logins of the caller's account, newest first",
          description: 'Lists only active logins.',
          protect: true,
          successDescription: 'One page of active logins, and the total.',
          errorResponses: { 400: 'A parameter is invalid.' },
        },
      })
      .input(ListLoginsInput)
      .output(ListLoginsOutput)
      .query(
        withScope('manage', ({ ctx, input }) =>
          listLogins(people, { caller: ctx.caller, userId: ctx.caller.userId, ...input }),
        ),
      ),

    end: procedure
      .meta({
        openapi: {
          method: 'DELETE',
          path: '/api/logins/{loginId}',
          operationId: 'endLogin',
          tags,
          summary: 'End a browser login',
          description: 'Takes effect with the next request of that browser.',
          protect: true,
          successDescription: 'The login was ended.',
          errorResponses: { 400: 'A parameter is invalid.', 404: 'The login was not found.' },
        },
      })
      .input(EndLoginInput)
      .output(Confirmation)
      .mutation(
        withScope('manage', async ({ ctx, input }) => {
          const ended = await people.store.endLogin({ userId: ctx.caller.userId, loginId: input.loginId })
          if (!ended) throw new ErrandError('NOT_FOUND', 'Login not found. Check the id.')
          return { message: 'The login was ended.' }
        }),
      ),

    endAll: procedure
      .meta({
        openapi: {
          method: 'DELETE',
          path: '/api/logins',
          operationId: 'endLogins',
          tags,
          summary: "End all browser logins of the caller's account",
          description: 'Also ends the login of this request. API keys stay valid.',
          protect: true,
          successDescription: 'All logins were ended.',
          errorResponses: {},
        },
      })
      .input(z.object({}).optional())
      .output(Confirmation)
      .mutation(withScope('manage', ({ ctx }) => logOutEverywhere(people, { browser: ctx, caller: ctx.caller }))),
  })
