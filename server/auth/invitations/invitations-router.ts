import { Confirmation } from '../../kernel/wire-types.ts'
import { procedure, router, withAdmin } from '../../rpc/trpc.ts'
import {
  AcceptInvitationInput,
  CheckedInvitation,
  CheckInvitationInput,
  CreatedInvitation,
  CreateInvitationInput,
  ListInvitationsInput,
  ListInvitationsOutput,
  RevokeInvitationInput,
} from './invitation-schema.ts'
import { LoggedIn } from '../logins/login-schema.ts'
import {
  acceptInvitation,
  checkInvitation,
  createInvitation,
  listInvitations,
  revokeInvitation,
} from './manage-invitations.ts'

const tags = ['Invitations']
const adminOnly = 'The caller is no admin with a browser login.'
const bodyErrors = { 400: 'The body is invalid.', 413: 'The body is too large.', 415: 'The body is not JSON.' }

export const invitationsRouter = router({
  create: procedure
    .meta({
      openapi: {
        method: 'POST',
        path: '/api/invitations',
        operationId: 'createInvitation',
        tags,
        summary: 'Invite a person to an account (admins)',
        description: 'The link is in this answer and is never shown again. An earlier invitation of the address ends.',
        protect: true,
        successDescription: 'The invitation with its link.',
        errorResponses: { ...bodyErrors, 403: adminOnly, 409: 'There is a user with that address.' },
      },
    })
    .input(CreateInvitationInput)
    .output(CreatedInvitation)
    .mutation(
      withAdmin(({ ctx, input }) => createInvitation(ctx.services.people, { browser: ctx, caller: ctx.caller, input })),
    ),

  list: procedure
    .meta({
      openapi: {
        method: 'GET',
        path: '/api/invitations',
        operationId: 'listInvitations',
        tags,
        summary: 'List invitations and password links, newest first (admins)',
        description: 'Without the links themselves, which are shown only when they are made.',
        protect: true,
        successDescription: 'One page of them and the total.',
        errorResponses: { 400: 'A parameter is invalid.', 403: adminOnly },
      },
    })
    .input(ListInvitationsInput)
    .output(ListInvitationsOutput)
    .query(withAdmin(({ ctx, input }) => listInvitations(ctx.services.people, input))),

  revoke: procedure
    .meta({
      openapi: {
        method: 'DELETE',
        path: '/api/invitations/{invitationId}',
        operationId: 'revokeInvitation',
        tags,
        summary: 'Revoke an invitation or a password link (admins)',
        description: 'Nobody can use the link from then on.',
        protect: true,
        successDescription: 'The link no longer works.',
        errorResponses: {
          400: 'A parameter is invalid.',
          403: adminOnly,
          404: 'It was not found, or was accepted already.',
        },
      },
    })
    .input(RevokeInvitationInput)
    .output(Confirmation)
    .mutation(withAdmin(({ ctx, input }) => revokeInvitation(ctx.services.people, { caller: ctx.caller, ...input }))),

  check: procedure
    .meta({
      isPublic: true,
      openapi: {
        method: 'POST',
        path: '/api/invitations/check',
        operationId: 'checkInvitation',
        tags,
        summary: 'See what a link is for',
        description: 'For the page that a link opens; the link can be used afterwards.',
        protect: false,
        successDescription: 'Whom the link is for.',
        errorResponses: { ...bodyErrors, 404: 'The link is unknown, was used or has expired.' },
      },
    })
    .input(CheckInvitationInput)
    .output(CheckedInvitation)
    .mutation(({ ctx, input }) => checkInvitation(ctx.services.people, input.token)),

  accept: procedure
    .meta({
      isPublic: true,
      openapi: {
        method: 'POST',
        path: '/api/invitations/accept',
        operationId: 'acceptInvitation',
        tags,
        summary: 'Accept an invitation, or set a password by a link, and log in',
        description: 'A link works once. A browser that accepts one is logged in to the account.',
        protect: false,
        successDescription: 'The login, whose cookie is set.',
        errorResponses: {
          ...bodyErrors,
          403: 'The account is suspended, or the request does not come from a page of the service.',
          404: 'The link is unknown, was used or has expired.',
          409: 'There is a user with that address by now.',
        },
      },
    })
    .input(AcceptInvitationInput)
    .output(LoggedIn)
    .mutation(({ ctx, input }) => acceptInvitation(ctx.services.people, { browser: ctx, input })),
})
