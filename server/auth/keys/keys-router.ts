import type { LoginAccess } from '../logins/log-in.ts'
import { assertAgents, type Catalogue } from '../../agents/config/catalogue.ts'
import type { CallerContext } from '../../procedures/context.ts'
import { procedure, router, withScope, withWrite } from '../../procedures/procedure.ts'
import {
  CreatedKey,
  CreateKeyInput,
  Key,
  KeyInput,
  ListKeysInput,
  ListKeysOutput,
  RotateKeyInput,
  UpdateKeyInput,
} from './key-schema.ts'
import { createKey, getKey, listKeys, revokeKey, rotateKey, updateKey } from './manage-keys.ts'

const tags = ['API keys']

export const keysRouter = ({ catalogue, people }: { catalogue: Catalogue; people: LoginAccess }) => {
  /** Never log the key itself. */
  const note = ({ about, caller }: CallerContext, { keyId, message }: { keyId: string; message: string }) =>
    people.log.info({ requestId: about.requestId, userId: caller.userId, keyId }, message)
  const assertOwnAgents = ({ caller }: CallerContext, agentIds: readonly string[] | null | undefined) =>
    assertAgents(catalogue, { agentIds, path: 'agents', email: caller.email })
  return router({
    create: procedure
      .meta({
        openapi: {
          method: 'POST',
          path: '/api/keys',
          operationId: 'createKey',
          tags,
          summary: 'Create an API key',
          description: 'The response contains the key itself, which is never shown again.',
          protect: true,
          successDescription: 'The new key.',
          errorResponses: {
            400: 'The body is invalid.',
            403: 'The caller lacks permission.',
            409: 'The account already has the maximum number of keys.',
            413: 'The body is too large.',
            415: 'The body is not JSON.',
          },
        },
      })
      .input(CreateKeyInput)
      .output(CreatedKey)
      .mutation(
        withWrite('manage', async ({ ctx, input }) => {
          assertOwnAgents(ctx, input.agents)
          const created = await createKey(people, { caller: ctx.caller, input })
          note(ctx, { keyId: created.id, message: 'an API key was created' })
          return created
        }),
      ),

    list: procedure
      .meta({
        openapi: {
          method: 'GET',
          path: '/api/keys',
          operationId: 'listKeys',
          tags,
          summary: "List the caller's API keys, newest first",
          description:
            'Each item includes the last four characters of the key. The key itself is shown only when it is created.',
          protect: true,
          successDescription: 'One page of keys and the total.',
          errorResponses: { 400: 'A parameter is invalid.' },
        },
      })
      .input(ListKeysInput)
      .output(ListKeysOutput)
      .query(withScope('manage', ({ ctx, input }) => listKeys(people, { userId: ctx.caller.userId, ...input }))),

    get: procedure
      .meta({
        openapi: {
          method: 'GET',
          path: '/api/keys/{keyId}',
          operationId: 'getKey',
          tags,
          summary: 'Get an API key',
          description:
            'Includes revoked and expired keys for 90 days. The key itself is shown only when it is created.',
          protect: true,
          successDescription: 'The key.',
          errorResponses: { 400: 'A parameter is invalid.', 404: 'The key was not found.' },
        },
      })
      .input(KeyInput)
      .output(Key)
      .query(withScope('manage', ({ ctx, input }) => getKey(people, { userId: ctx.caller.userId, ...input }))),

    update: procedure
      .meta({
        openapi: {
          method: 'PATCH',
          path: '/api/keys/{keyId}',
          operationId: 'updateKey',
          tags,
          summary: 'Change the limits of an API key',
          description:
            'Omitted fields stay unchanged; null removes a limit. Applies from the next execution, also to keys linked to this one by rotation. Turns in progress continue within the new limits.',
          protect: true,
          successDescription: 'The updated key.',
          errorResponses: {
            400: 'The body is invalid.',
            403: 'The caller lacks permission.',
            404: 'The key was not found.',
            409: 'The key is revoked or expired, or `limitReset` was sent for a key without `limitUsd`.',
            413: 'The body is too large.',
            415: 'The body is not JSON.',
          },
        },
      })
      .input(UpdateKeyInput)
      .output(Key)
      .mutation(
        withWrite('manage', async ({ ctx, input }) => {
          assertOwnAgents(ctx, input.agents)
          const updated = await updateKey(people, { caller: ctx.caller, input })
          note(ctx, { keyId: updated.id, message: 'the limits of an API key were changed' })
          return updated
        }),
      ),

    revoke: procedure
      .meta({
        openapi: {
          method: 'DELETE',
          path: '/api/keys/{keyId}',
          operationId: 'revokeKey',
          tags,
          summary: 'Revoke an API key',
          description: 'Takes effect with the next request. Idempotent.',
          protect: true,
          successDescription: 'The revoked key.',
          errorResponses: { 400: 'A parameter is invalid.', 404: 'The key was not found.' },
        },
      })
      .input(KeyInput)
      .output(Key)
      .mutation(
        withScope('manage', async ({ ctx, input }) => {
          const revoked = await revokeKey(people, { userId: ctx.caller.userId, ...input })
          note(ctx, { keyId: revoked.id, message: 'an API key was revoked' })
          return revoked
        }),
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
          description:
            'Creates a key with the same name, scopes and limits. The old key stays valid for `overlapSeconds`; both count toward the same limits.',
          protect: true,
          successDescription: 'The new key.',
          errorResponses: {
            400: 'The body is invalid.',
            403: 'The caller lacks permission.',
            404: 'The key was not found.',
            409: 'The key is revoked or expired.',
            413: 'The body is too large.',
            415: 'The body is not JSON.',
          },
        },
      })
      .input(RotateKeyInput)
      .output(CreatedKey)
      .mutation(
        withWrite('manage', async ({ ctx, input }) => {
          const created = await rotateKey(people, { caller: ctx.caller, input })
          note(ctx, { keyId: created.id, message: 'an API key was rotated' })
          return created
        }),
      ),
  })
}
