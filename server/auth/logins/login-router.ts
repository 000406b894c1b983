import { z } from 'zod'
import { Confirmation } from '../../kernel/wire-types.ts'
import { procedure, router, withScope } from '../../rpc/trpc.ts'
import { logIn } from './log-in.ts'
import { LoggedIn, LoginInput, LoginOptions } from './login-schema.ts'
import { logOut } from './manage-logins.ts'

const tags = ['Browser login']
const cookieNote =
  'The answer sets the cookie of the login. A browser login acts only from pages of the service itself: the request must come from them, by its `Origin` and `Sec-Fetch-Site` headers.'

export const loginRouter = router({
  options: procedure
    .meta({
      isPublic: true,
      openapi: {
        method: 'GET',
        path: '/api/login',
        operationId: 'getLoginOptions',
        tags,
        summary: 'Get the ways to log in beside email address and password',
        description: 'For the page on which people log in.',
        protect: false,
        successDescription: 'The providers of single sign-on.',
        errorResponses: { 400: 'The request is malformed.' },
      },
    })
    .input(z.object({}).optional())
    .output(LoginOptions)
    .query(({ ctx }) => ({
      providers: ctx.services.people.logins.providers.map(({ id, name }) => ({ id, name, url: `/login/oidc/${id}` })),
    })),

  create: procedure
    .meta({
      isPublic: true,
      openapi: {
        method: 'POST',
        path: '/api/login',
        operationId: 'logIn',
        tags,
        summary: 'Log a browser in by email address and password',
        description: cookieNote,
        protect: false,
        successDescription: 'The login, whose cookie is set.',
        errorResponses: {
          400: 'The body is invalid.',
          401: 'The email address or the password is wrong.',
          403: 'The account is suspended, or the request does not come from a page of the service.',
          413: 'The body is too large.',
          415: 'The body is not JSON.',
          429: 'There were too many attempts to log in.',
        },
      },
    })
    .input(LoginInput)
    .output(LoggedIn)
    .mutation(({ ctx, input }) => logIn(ctx.services.people, { browser: ctx, input })),

  end: procedure
    .meta({
      isBodyOptional: true,
      openapi: {
        method: 'POST',
        path: '/api/logout',
        operationId: 'logOut',
        tags,
        summary: 'Log this browser out',
        description: 'Ends the login whose cookie the request carries.',
        protect: true,
        successDescription: 'The login has ended and its cookie is removed.',
        errorResponses: {
          400: 'The body is invalid.',
          403: 'The caller has no browser login.',
          413: 'The body is too large.',
          415: 'The body is not JSON.',
        },
      },
    })
    .input(z.object({}).optional())
    .output(Confirmation)
    .mutation(withScope('read', ({ ctx }) => logOut(ctx.services.people, { browser: ctx, caller: ctx.caller }))),
})
