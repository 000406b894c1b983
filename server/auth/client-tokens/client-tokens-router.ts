import type { Catalogue } from '../../agents/config/catalogue.ts'
import type { Store } from '../../store/store.ts'
import type { LoginAccess } from '../logins/log-in.ts'
import { procedure, router, withScope, withWrite } from '../../procedures/procedure.ts'
import {
  ClientToken,
  ClientTokenInput,
  CreateClientTokenInput,
  CreatedClientToken,
  ListClientTokensInput,
  ListClientTokensOutput,
} from './client-token-schema.ts'
import { createClientToken, listClientTokens, revokeClientToken } from './manage-client-tokens.ts'

const tags = ['Client tokens']

export const clientTokensRouter = (parts: { catalogue: Catalogue; people: LoginAccess; store: Store }) =>
  router({
    create: procedure
      .meta({
        openapi: {
          method: 'POST',
          path: '/api/client-tokens',
          operationId: 'createClientToken',
          tags,
          summary: 'Create a client token',
          description:
            "Creates a token for a user's browser or another client, valid for at most an hour. It cannot have more permissions than the credential that creates it, and ends with that credential. The response contains the token itself, which is never shown again.",
          protect: true,
          successDescription: 'The new token.',
          errorResponses: {
            400: 'The body is invalid.',
            403: 'The caller lacks permission, or the token would exceed the permissions of its creator.',
            404: 'The session or the task was not found.',
            409: 'The account already has the maximum number of client tokens.',
            413: 'The body is too large.',
            415: 'The body is not JSON.',
          },
        },
      })
      .input(CreateClientTokenInput)
      .output(CreatedClientToken)
      .mutation(
        withWrite(['execute', 'manage'], async ({ ctx, input }) => {
          const { about, caller } = ctx
          const created = await createClientToken(parts, { caller, input })
          const { requestId } = about
          parts.people.log.info({ requestId, userId: caller.userId, tokenId: created.id }, 'a client token was created')
          return created
        }),
      ),

    list: procedure
      .meta({
        openapi: {
          method: 'GET',
          path: '/api/client-tokens',
          operationId: 'listClientTokens',
          tags,
          summary: "List the user's active client tokens, newest first",
          description:
            'Includes tokens created by other keys, logins and platform keys. Never returns the tokens themselves.',
          protect: true,
          successDescription: 'One page of active tokens and the total.',
          errorResponses: { 400: 'A parameter is invalid.' },
        },
      })
      .input(ListClientTokensInput)
      .output(ListClientTokensOutput)
      .query(
        withScope(['read', 'manage'], ({ ctx, input }) =>
          listClientTokens(parts.store, { userId: ctx.caller.userId, ...input }),
        ),
      ),

    revoke: procedure
      .meta({
        openapi: {
          method: 'DELETE',
          path: '/api/client-tokens/{tokenId}',
          operationId: 'revokeClientToken',
          tags,
          summary: 'Revoke a client token',
          description: 'Takes effect with the next request. Idempotent.',
          protect: true,
          successDescription: 'The revoked token.',
          errorResponses: { 400: 'A parameter is invalid.', 404: 'The token was not found.' },
        },
      })
      .input(ClientTokenInput)
      .output(ClientToken)
      .mutation(
        withScope(['execute', 'manage'], ({ ctx, input }) =>
          revokeClientToken(parts.people, { userId: ctx.caller.userId, ...input }),
        ),
      ),
  })
