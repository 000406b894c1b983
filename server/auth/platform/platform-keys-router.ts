import { procedure, router, withAdmin } from '../../rpc/trpc.ts'
import { createPlatformKey, listPlatformKeys, revokePlatformKey } from './manage-platform-keys.ts'
import {
  CreatedPlatformKey,
  CreatePlatformKeyInput,
  ListPlatformKeysInput,
  ListPlatformKeysOutput,
  PlatformKey,
  PlatformKeyInput,
} from './platform-key-schema.ts'

const tags = ['Platform keys']
const adminOnly = { 403: 'The caller is no admin with a browser login.' }

export const platformKeysRouter = router({
  create: procedure
    .meta({
      openapi: {
        method: 'POST',
        path: '/api/platform-keys',
        operationId: 'createPlatformKey',
        tags,
        summary: 'Create a platform key (admins)',
        description:
          'For the server of a product that is built on the service. It reaches no content of its own and makes no keys of its kind. The key itself is in this answer and is never shown again.',
        protect: true,
        successDescription: 'The new key.',
        errorResponses: {
          400: 'The body is invalid.',
          409: 'There are too many platform keys.',
          413: 'The body is too large.',
          415: 'The body is not JSON.',
          ...adminOnly,
        },
      },
    })
    .input(CreatePlatformKeyInput)
    .output(CreatedPlatformKey)
    .mutation(
      withAdmin(({ ctx, input }) => createPlatformKey(ctx.services.people, { adminId: ctx.caller.userId, input })),
    ),

  list: procedure
    .meta({
      openapi: {
        method: 'GET',
        path: '/api/platform-keys',
        operationId: 'listPlatformKeys',
        tags,
        summary: 'List platform keys, newest first (admins)',
        description: 'With what each may do, and what it has credited today.',
        protect: true,
        successDescription: 'One page of keys and the total.',
        errorResponses: { 400: 'A parameter is invalid.', ...adminOnly },
      },
    })
    .input(ListPlatformKeysInput)
    .output(ListPlatformKeysOutput)
    .query(withAdmin(({ ctx, input }) => listPlatformKeys(ctx.services.people, input))),

  revoke: procedure
    .meta({
      openapi: {
        method: 'DELETE',
        path: '/api/platform-keys/{keyId}',
        operationId: 'revokePlatformKey',
        tags,
        summary: 'Revoke a platform key (admins)',
        description:
          'Acts on the next request; client tokens that were made with it end too. Repeating it changes nothing.',
        protect: true,
        successDescription: 'The key, revoked.',
        errorResponses: { 400: 'A parameter is invalid.', 404: 'The key was not found.', ...adminOnly },
      },
    })
    .input(PlatformKeyInput)
    .output(PlatformKey)
    .mutation(
      withAdmin(({ ctx, input }) =>
        revokePlatformKey(ctx.services.people, { adminId: ctx.caller.userId, keyId: input.keyId }),
      ),
    ),
})
