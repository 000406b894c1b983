import type { LoginAccess } from '../logins/log-in.ts'
import { procedure, router, withAdmin } from '../../procedures/procedure.ts'
import { ClientToken } from '../client-tokens/client-token-schema.ts'
import {
  createPlatformKey,
  getPlatformKey,
  listPlatformKeys,
  revokeKeyToken,
  revokePlatformKey,
} from './manage-platform-keys.ts'
import {
  CreatedPlatformKey,
  CreatePlatformKeyInput,
  ListPlatformKeysInput,
  KeyTokenInput,
  ListPlatformKeysOutput,
  PlatformKey,
  PlatformKeyDetails,
  PlatformKeyInput,
} from './platform-key-schema.ts'

const tags = ['Platform keys']
const adminOnly = { 403: 'The caller is not an admin with a browser login.' }

export const platformKeysRouter = (people: LoginAccess) =>
  router({
    create: procedure
      .meta({
        openapi: {
          method: 'POST',
          path: '/api/platform-keys',
          operationId: 'createPlatformKey',
          tags,
          summary: 'Create a platform key (admins)',
          description:
            'For the server of a product built on the service. A platform key cannot create platform keys and owns no tasks or sessions. The response contains the key itself, which is never shown again.',
          protect: true,
          successDescription: 'The new key.',
          errorResponses: {
            400: 'The body is invalid.',
            409: 'The service already has the maximum number of platform keys.',
            413: 'The body is too large.',
            415: 'The body is not JSON.',
            ...adminOnly,
          },
        },
      })
      .input(CreatePlatformKeyInput)
      .output(CreatedPlatformKey)
      .mutation(withAdmin(({ ctx, input }) => createPlatformKey(people, { adminId: ctx.caller.userId, input }))),

    list: procedure
      .meta({
        openapi: {
          method: 'GET',
          path: '/api/platform-keys',
          operationId: 'listPlatformKeys',
          tags,
          summary: 'List platform keys, newest first (admins)',
          description: "Includes each key's scopes, the number of users it created, and the amount it credited today.",
          protect: true,
          successDescription: 'One page of keys and the total.',
          errorResponses: { 400: 'A parameter is invalid.', ...adminOnly },
        },
      })
      .input(ListPlatformKeysInput)
      .output(ListPlatformKeysOutput)
      .query(withAdmin(({ input }) => listPlatformKeys(people, input))),

    get: procedure
      .meta({
        openapi: {
          method: 'GET',
          path: '/api/platform-keys/{keyId}',
          operationId: 'getPlatformKey',
          tags,
          summary: 'Get a platform key (admins)',
          description:
            'Includes the credit of the last 30 days, and the active client tokens that the key has created.',
          protect: true,
          successDescription: 'The key.',
          errorResponses: { 400: 'A parameter is invalid.', 404: 'The key was not found.', ...adminOnly },
        },
      })
      .input(PlatformKeyInput)
      .output(PlatformKeyDetails)
      .query(withAdmin(({ input }) => getPlatformKey(people, input))),

    revokeToken: procedure
      .meta({
        openapi: {
          method: 'DELETE',
          path: '/api/platform-keys/{keyId}/client-tokens/{tokenId}',
          operationId: 'revokePlatformClientToken',
          tags,
          summary: 'Revoke a client token of a platform key (admins)',
          description: 'Takes effect with the next request. Idempotent.',
          protect: true,
          successDescription: 'The revoked token.',
          errorResponses: { 400: 'A parameter is invalid.', 404: 'The token was not found.', ...adminOnly },
        },
      })
      .input(KeyTokenInput)
      .output(ClientToken)
      .mutation(withAdmin(({ ctx, input }) => revokeKeyToken(people, { adminId: ctx.caller.userId, ...input }))),

    revoke: procedure
      .meta({
        openapi: {
          method: 'DELETE',
          path: '/api/platform-keys/{keyId}',
          operationId: 'revokePlatformKey',
          tags,
          summary: 'Revoke a platform key (admins)',
          description: 'Takes effect with the next request. Also ends client tokens created with the key. Idempotent.',
          protect: true,
          successDescription: 'The revoked key.',
          errorResponses: { 400: 'A parameter is invalid.', 404: 'The key was not found.', ...adminOnly },
        },
      })
      .input(PlatformKeyInput)
      .output(PlatformKey)
      .mutation(
        withAdmin(({ ctx, input }) => revokePlatformKey(people, { adminId: ctx.caller.userId, keyId: input.keyId })),
      ),
  })
