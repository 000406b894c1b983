import { procedure, router, withScope } from '../rpc/trpc.ts'
import {
  CreatedKey,
  CreateKeyInput,
  Key,
  ListKeysInput,
  ListKeysOutput,
  RevokeKeyInput,
  RotateKeyInput,
} from './key-schema.ts'
import { createKey, listKeys, revokeKey, rotateKey } from './manage-keys.ts'

const tags = ['API keys']

export const keysRouter = router({
  create: procedure
    .meta({
      openapi: {
        method: 'POST',
        path: '/api/keys',
        operationId: 'createKey',
        tags,
        summary: 'Create an API key',
        description: 'The key itself is in this answer and is never shown again.',
        protect: true,
        successDescription: 'The new key.',
        errorResponses: {
          400: 'The body is invalid.',
          403: 'Permission is missing.',
          413: 'The body is too large.',
          415: 'The body is not JSON.',
        },
      },
    })
    .input(CreateKeyInput)
    .output(CreatedKey)
    .mutation(withScope('manage', ({ ctx, input }) => createKey(ctx.services, { caller: ctx.caller, input }))),

  list: procedure
    .meta({
      openapi: {
        method: 'GET',
        path: '/api/keys',
        operationId: 'listKeys',
        tags,
        summary: "List the caller's API keys, newest first",
        protect: true,
        successDescription: 'One page of keys and the total.',
        errorResponses: { 400: 'A parameter is invalid.' },
      },
    })
    .input(ListKeysInput)
    .output(ListKeysOutput)
    .query(withScope('manage', ({ ctx, input }) => listKeys(ctx.services, { userId: ctx.caller.userId, ...input }))),

  revoke: procedure
    .meta({
      openapi: {
        method: 'DELETE',
        path: '/api/keys/{keyId}',
        operationId: 'revokeKey',
        tags,
        summary: 'Revoke an API key',
        description: 'Acts on the next request. Repeating it changes nothing.',
        protect: true,
        successDescription: 'The key, revoked.',
        errorResponses: { 400: 'A parameter is invalid.', 404: 'The key was not found.' },
      },
    })
    .input(RevokeKeyInput)
    .output(Key)
    .mutation(
      withScope('manage', ({ ctx, input }) => revokeKey(ctx.services, { userId: ctx.caller.userId, ...input })),
    ),

  rotate: procedure
    .meta({
      isBodyOptional: true,
      openapi: {
        method: 'POST',
        path: '/api/keys/{keyId}/rotate',
        operationId: 'rotateKey',
        tags,
        summary: 'Replace an API key',
        description: 'A new key with the same name and scopes; the old one goes on working for `overlapSeconds`.',
        protect: true,
        successDescription: 'The new key.',
        errorResponses: {
          400: 'The body is invalid.',
          403: 'Permission is missing.',
          404: 'The key was not found.',
          409: 'The key has ended.',
          413: 'The body is too large.',
          415: 'The body is not JSON.',
        },
      },
    })
    .input(RotateKeyInput)
    .output(CreatedKey)
    .mutation(withScope('manage', ({ ctx, input }) => rotateKey(ctx.services, { caller: ctx.caller, input }))),
})
