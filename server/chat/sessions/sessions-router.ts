import {
  createSession,
  deleteSession,
  getSession,
  listMessages,
  listSessions,
  updateSession,
  type SessionParts,
} from './session-operations.ts'
import { Confirmation } from '../../kernel/wire-types.ts'
import { pageBytesOf } from '../../procedures/context.ts'
import { readPage } from '../../procedures/page-turn.ts'
import { procedure, router, withScope, withWrite } from '../../procedures/procedure.ts'
import {
  CreateSessionInput,
  CreateSessionOutput,
  ListMessagesInput,
  ListMessagesOutput,
  ListSessionsInput,
  ListSessionsOutput,
  Session,
  SessionInput,
  UpdateSessionInput,
} from './session-schema.ts'

const tags = ['Sessions']
const notFound = 'The session was not found.'
/** Maximum size of a message page that is read immediately. A larger page is read in a separate event-loop tick. */
const smallPageBytes = 64 * 1024

export const sessionsRouter = (parts: SessionParts) =>
  router({
    create: procedure
      .meta({
        isIdempotent: true,
        openapi: {
          method: 'POST',
          path: '/api/sessions',
          operationId: 'createSession',
          tags,
          summary: 'Create a session',
          description:
            'Creating a session is free. With an `Idempotency-Key`, a repeated request returns the session that the first request created.',
          protect: true,
          successDescription: 'The session was created.',
          errorResponses: {
            400: 'The body is invalid, the agent does not support chat, or the session to continue is active.',
            403: 'The caller lacks permission.',
            404: 'The agent, a connector or the session to continue was not found.',
            409: 'The Idempotency-Key was already used with a different body, or the account already has the maximum number of sessions.',
            413: 'The body is too large.',
            415: 'The body is not JSON.',
          },
        },
      })
      .input(CreateSessionInput)
      .output(CreateSessionOutput)
      .mutation(
        withWrite(
          'execute',
          ({ ctx, input }) => {
            const { caller, idempotencyKey } = ctx
            return createSession(parts, { caller, input, idempotencyKey })
          },
          'account',
        ),
      ),

    get: procedure
      .meta({
        openapi: {
          method: 'GET',
          path: '/api/sessions/{sessionId}',
          operationId: 'getSession',
          tags,
          summary: 'Get a session',
          description:
            'Returns expired and completed sessions too, with that `status`. Use `listMessages` for the messages.',
          protect: true,
          successDescription: 'The session.',
          errorResponses: { 400: 'A parameter is invalid.', 404: notFound },
        },
      })
      .input(SessionInput)
      .output(Session)
      .query(
        withScope(
          'read',
          ({ ctx, input }) => {
            return getSession(parts.store, { userId: ctx.caller.userId, sessionId: input.sessionId })
          },
          'session',
        ),
      ),

    list: procedure
      .meta({
        openapi: {
          method: 'GET',
          path: '/api/sessions',
          operationId: 'listSessions',
          tags,
          summary: "List the caller's sessions, newest or last used first",
          description: 'Items omit metadata and messages. Use `getSession` and `listMessages` for those.',
          protect: true,
          successDescription: 'One page of sessions and the total.',
          errorResponses: { 400: 'A parameter is invalid.' },
        },
      })
      .input(ListSessionsInput)
      .output(ListSessionsOutput)
      .query(
        withScope(
          'read',
          ({ ctx, input }) => listSessions(parts.store, { input, userId: ctx.caller.userId }),
          'account',
        ),
      ),

    update: procedure
      .meta({
        openapi: {
          method: 'PATCH',
          path: '/api/sessions/{sessionId}',
          operationId: 'updateSession',
          tags,
          summary: 'Complete a session, or change its title, metadata or tags',
          description:
            'Counts as activity. A completed session stays completed, but its metadata can still be changed.',
          protect: true,
          successDescription: 'The updated session.',
          errorResponses: {
            400: 'The body is invalid.',
            403: 'The caller lacks permission.',
            404: 'The session or a connector was not found.',
            409: 'The session is completed, or its charges and holds exceed the new `maxCostUsd`.',
            410: 'The session has expired.',
            413: 'The body is too large.',
            415: 'The body is not JSON.',
          },
        },
      })
      .input(UpdateSessionInput)
      .output(Session)
      .mutation(
        withWrite('execute', ({ ctx, input }) => updateSession(parts, { caller: ctx.caller, input }), 'account'),
      ),

    delete: procedure
      .meta({
        openapi: {
          method: 'DELETE',
          path: '/api/sessions/{sessionId}',
          operationId: 'deleteSession',
          tags,
          summary: 'End and delete a session with its messages',
          description: 'Stops a turn in progress and charges its usage so far. Keeps the transactions.',
          protect: true,
          successDescription: 'The session was deleted.',
          errorResponses: { 400: 'A parameter is invalid.', 403: 'The caller lacks permission.', 404: notFound },
        },
      })
      .input(SessionInput)
      .output(Confirmation)
      .mutation(
        withWrite(
          'execute',
          async ({ ctx, input }) => {
            await deleteSession(parts, { caller: ctx.caller, sessionId: input.sessionId })
            return { message: 'Session deleted' }
          },
          'account',
        ),
      ),

    messages: procedure
      .meta({
        openapi: {
          method: 'GET',
          path: '/api/sessions/{sessionId}/messages',
          operationId: 'listMessages',
          tags,
          summary: 'List the messages of a session, oldest first',
          description:
            'A page contains at most about 1 MB of messages (less in a batch), but at least one message, so it can be shorter than `limit`. Continue at the `offset` after its last message.',
          protect: true,
          successDescription: 'One page of messages and the total.',
          errorResponses: { 400: 'A parameter is invalid.', 404: notFound },
        },
      })
      .input(ListMessagesInput)
      .output(ListMessagesOutput)
      .query(
        withScope(
          'read',
          async ({ ctx, input }) => {
            const { userId } = ctx.caller
            const read = (bytesMax: number) => listMessages(parts, { input: { ...input, bytesMax }, userId })
            return await readPage(userId, {
              small: async () => {
                const page = await read(Math.min(smallPageBytes, pageBytesOf(ctx)))
                return page.messages.length < Math.min(input.limit, page.total - input.offset) ? undefined : page
              },
              whole: () => read(pageBytesOf(ctx)),
            })
          },
          'session',
        ),
      ),
  })
