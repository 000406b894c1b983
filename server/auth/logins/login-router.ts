import { logIn, type LoginAccess } from './log-in.ts'
import { z } from 'zod'
import { Confirmation } from '../../kernel/wire-types.ts'
import { procedure, router, withScope } from '../../procedures/procedure.ts'
import { LoggedIn, LoginInput, LoginOptions } from './login-schema.ts'
import { logOut } from './manage-logins.ts'

const tags = ['Browser login']
const cookieNote =
  'The response sets the login cookie. A browser login works only from pages of the service itself, which the `Origin` and `Sec-Fetch-Site` headers must show.'

export const loginRouter = (people: LoginAccess) =>
  router({
    options: procedure
      .meta({
        isPublic: true,
        openapi: {
          method: 'GET',
          path: '/api/login',
          operationId: 'getLoginOptions',
          tags,
          summary: 'Get the ways to log in',
          description: 'For the login page.',
          protect: false,
          successDescription: 'The single sign-on providers, and whether people can sign up and reset their password.',
          errorResponses: { 400: 'The request is malformed.' },
        },
      })
      .input(z.object({}).optional())
      .output(LoginOptions)
      .query(() => ({
        providers: people.logins.providers.map(({ id, name }) => ({ id, name, url: `/login/oidc/${id}` })),
        canResetPassword: people.mails !== undefined,
        canSignUp: people.signUp.isOpen,
      })),

    create: procedure
      .meta({
        isPublic: true,
        openapi: {
          method: 'POST',
          path: '/api/login',
          operationId: 'logIn',
          tags,
          summary: 'Log in with email address and password',
          description: cookieNote,
          protect: false,
          successDescription: 'The login. Its cookie is set.',
          errorResponses: {
            400: 'The body is invalid.',
            401: 'The email address or password is wrong.',
            403: 'The account is suspended, or the request does not come from a page of the service.',
            413: 'The body is too large.',
            415: 'The body is not JSON.',
            429: 'There were too many login attempts.',
          },
        },
      })
      .input(LoginInput)
      .output(LoggedIn)
      .mutation(({ ctx, input }) => logIn(people, { browser: ctx, input })),

    end: procedure
      .meta({
        isBodyOptional: true,
        openapi: {
          method: 'POST',
          path: '/api/logout',
          operationId: 'logOut',
          tags,
          summary: 'Log out',
          description: 'Ends the login whose cookie the request carries.',
          protect: true,
          successDescription: 'The login was ended, and its cookie was removed.',
          errorResponses: {
            400: 'The body is invalid.',
            403: 'The caller does not have a browser login.',
            413: 'The body is too large.',
            415: 'The body is not JSON.',
          },
        },
      })
      .input(z.object({}).optional())
      .output(Confirmation)
      .mutation(withScope('read', ({ ctx }) => logOut(people, { browser: ctx, caller: ctx.caller }))),
  })
