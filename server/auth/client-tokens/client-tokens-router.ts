import { procedure, router, withScope, withWrite } from '../../rpc/trpc.ts'
import { ClientToken, ClientTokenInput, CreateClientTokenInput, CreatedClientToken } from './client-token-schema.ts'
import { createClientToken, revokeClientToken } from './manage-client-tokens.ts'

const tags = ['Client tokens']

export const clientTokensRouter = router({
  create: procedure
    .meta({
      openapi: {
        method: 'POST',
        path: '/api/client-tokens',
        operationId: 'createClientToken',
        tags,
        summary: 'Create a client token',
        description:
          'For a browser or another program of a user, for an hour at most: with a part of what the credential may do that makes it, and ended with it. The token itself is in this answer and is never shown again.',
        protect: true,
        successDescription: 'The new token.',
        errorResponses: {
          400: 'The body is invalid.',
          403: 'Permission is missing, or the token would have more than its maker.',
          404: 'The session or the task was not found.',
          409: 'The account has too many client tokens.',
          413: 'The body is too large.',
          415: 'The body is not JSON.',
        },
      },
    })
    .input(CreateClientTokenInput)
    .output(CreatedClientToken)
    .mutation(
      withWrite(['execute', 'manage'], async ({ ctx, input }) => {
        const { about, caller, services } = ctx
        const created = await createClientToken(services, { caller, input })
        const { requestId } = about
        services.people.log.info({ requestId, userId: caller.userId, tokenId: created.id }, 'a client token was made')
        return created
      }),
    ),

  revoke: procedure
    .meta({
      openapi: {
        method: 'DELETE',
        path: '/api/client-tokens/{tokenId}',
        operationId: 'revokeClientToken',
        tags,
        summary: 'Revoke a client token',
        description: 'Acts on the next request. Repeating it changes nothing.',
        protect: true,
        successDescription: 'The token, revoked.',
        errorResponses: { 400: 'A parameter is invalid.', 404: 'The token was not found.' },
      },
    })
    .input(ClientTokenInput)
    .output(ClientToken)
    .mutation(
      withScope(['execute', 'manage'], ({ ctx, input }) =>
        revokeClientToken(ctx.services.people, { userId: ctx.caller.userId, ...input }),
      ),
    ),
})
