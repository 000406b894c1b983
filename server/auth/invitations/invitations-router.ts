import type { LoginAccess } from '../logins/log-in.ts'
import { Confirmation } from '../../kernel/wire-types.ts'
import { procedure, router, withAdmin } from '../../procedures/procedure.ts'
import {
  AcceptInvitationInput,
  CheckedInvitation,
  CheckInvitationInput,
  CreatedInvitation,
  CreateInvitationInput,
  ListInvitationsInput,
  ListInvitationsOutput,
  PasswordResetInput,
  RevokeInvitationInput,
  SignUpInput,
} from './invitation-schema.ts'
import { LoggedIn } from '../logins/login-schema.ts'
import {
  acceptInvitation,
  checkInvitation,
  createInvitation,
  listInvitations,
  revokeInvitation,
} from './manage-invitations.ts'
import { requestPasswordReset, requestSignUp } from './request-link.ts'

const tags = ['Invitations']
const adminOnly = 'The caller is not an admin with a browser login.'
const bodyErrors = { 400: 'The body is invalid.', 413: 'The body is too large.', 415: 'The body is not JSON.' }

export const invitationsRouter = (people: LoginAccess) =>
  router({
    create: procedure
      .meta({
        openapi: {
          method: 'POST',
          path: '/api/invitations',
          operationId: 'createInvitation',
          tags,
          summary: 'Invite a person (admins)',
          description:
            'The response contains the link, which is never shown again. Replaces any earlier invitation to this address.',
          protect: true,
          successDescription: 'The invitation with its link.',
          errorResponses: { ...bodyErrors, 403: adminOnly, 409: 'A user with this email address already exists.' },
        },
      })
      .input(CreateInvitationInput)
      .output(CreatedInvitation)
      .mutation(withAdmin(({ ctx, input }) => createInvitation(people, { browser: ctx, caller: ctx.caller, input }))),

    list: procedure
      .meta({
        openapi: {
          method: 'GET',
          path: '/api/invitations',
          operationId: 'listInvitations',
          tags,
          summary: 'List invitations and password links, newest first (admins)',
          description: 'A link itself is shown only when it is created.',
          protect: true,
          successDescription: 'One page of invitations and links, and the total.',
          errorResponses: { 400: 'A parameter is invalid.', 403: adminOnly },
        },
      })
      .input(ListInvitationsInput)
      .output(ListInvitationsOutput)
      .query(withAdmin(({ input }) => listInvitations(people, input))),

    revoke: procedure
      .meta({
        openapi: {
          method: 'DELETE',
          path: '/api/invitations/{invitationId}',
          operationId: 'revokeInvitation',
          tags,
          summary: 'Revoke an invitation or a password link (admins)',
          description: 'The link stops working immediately.',
          protect: true,
          successDescription: 'The link no longer works.',
          errorResponses: {
            400: 'A parameter is invalid.',
            403: adminOnly,
            404: 'The link was not found, or has already been accepted.',
          },
        },
      })
      .input(RevokeInvitationInput)
      .output(Confirmation)
      .mutation(withAdmin(({ ctx, input }) => revokeInvitation(people, { caller: ctx.caller, ...input }))),

    check: procedure
      .meta({
        isPublic: true,
        openapi: {
          method: 'POST',
          path: '/api/invitations/check',
          operationId: 'checkInvitation',
          tags,
          summary: 'Get the purpose of a link',
          description: 'For the page that a link opens. Does not use up the link.',
          protect: false,
          successDescription: 'The purpose of the link and the email address it is for.',
          errorResponses: { ...bodyErrors, 404: 'The link is unknown, already used or expired.' },
        },
      })
      .input(CheckInvitationInput)
      .output(CheckedInvitation)
      .mutation(({ input }) => checkInvitation(people, input.token)),

    requestPasswordReset: procedure
      .meta({
        isPublic: true,
        openapi: {
          method: 'POST',
          path: '/api/password-resets',
          operationId: 'requestPasswordReset',
          tags,
          summary: 'Email a link to set a new password',
          description:
            'The link works once and expires after an hour. The response does not reveal whether the address belongs to an account. The number of links per user and day is limited.',
          protect: false,
          successDescription: 'A link was emailed if an account with a password has this address.',
          errorResponses: {
            ...bodyErrors,
            404: 'The service does not send email.',
            429: 'There were too many requests for this address or from this client.',
          },
        },
      })
      .input(PasswordResetInput)
      .output(Confirmation)
      .mutation(({ ctx, input }) => requestPasswordReset(people, { browser: ctx, email: input.email })),

    requestSignUp: procedure
      .meta({
        isPublic: true,
        openapi: {
          method: 'POST',
          path: '/api/sign-up',
          operationId: 'requestSignUp',
          tags,
          summary: 'Email a link to create an account',
          description:
            'The link works once and expires after a day. If the address already has an account, the email says so. The response does not reveal whether the address belongs to an account.',
          protect: false,
          successDescription: 'An email was sent to the address.',
          errorResponses: {
            ...bodyErrors,
            404: 'The service does not offer sign-up.',
            429: 'There were too many requests for this address, from this client, or today.',
          },
        },
      })
      .input(SignUpInput)
      .output(Confirmation)
      .mutation(({ ctx, input }) => requestSignUp(people, { browser: ctx, email: input.email })),

    accept: procedure
      .meta({
        isPublic: true,
        openapi: {
          method: 'POST',
          path: '/api/invitations/accept',
          operationId: 'acceptInvitation',
          tags,
          summary: 'Accept an invitation or set a password with a link, and log in',
          description: 'Each link works once. The browser is then logged in to the account.',
          protect: false,
          successDescription: 'The login. Its cookie is set.',
          errorResponses: {
            ...bodyErrors,
            403: 'The account is suspended, or the request does not come from a page of the service.',
            404: 'The link is unknown, already used or expired.',
            409: 'A user with that email address now exists.',
          },
        },
      })
      .input(AcceptInvitationInput)
      .output(LoggedIn)
      .mutation(({ ctx, input }) => acceptInvitation(people, { browser: ctx, input })),
  })
