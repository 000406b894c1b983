import type { RateState } from '../store/limits/limit-types.ts'
import type { ChatTurns } from './chat-turns.ts'
import { badField } from '../kernel/errors.ts'
import { callerTurn, holdAnswer } from '../procedures/hold-answer.ts'
import { procedure, router, withScope } from '../procedures/procedure.ts'
import { ChatInput, SessionStreamInput, StopTurnInput, StopTurnOutput, TurnEventsInput } from './chat-schema.ts'
import { ChatStream } from './chat-stream.ts'

export const chatRouter = (chats: ChatTurns) =>
  router({
    /** The resolver returns only after admission, so a rejection still gets its own HTTP status. */
    stream: procedure
      .meta({ isStream: true })
      .input(ChatInput)
      .mutation(
        withScope(
          'execute',
          async ({ ctx, input }): Promise<ChatStream> => {
            const { about, caller, idempotencyKey } = ctx
            if (!ctx.stream) throw badField('', 'This operation returns a stream. Call it with httpBatchStreamLink')
            const { left: signal } = ctx.stream
            const onRate = (rate: RateState) => (ctx.rate = rate)
            const onLarge = () => callerTurn(ctx)
            const onWait = () => holdAnswer(ctx)
            const told = { onLarge, onRate, onWait }
            const turn = await chats.start({ about, caller, idempotencyKey, input, signal, ...told })
            holdAnswer(ctx)
            return new ChatStream(turn, ctx.stream)
          },
          'session',
        ),
      ),

    /** Like `stream`, for a turn that has already started. Returns null if there are no events after the given one. */
    resume: procedure
      .meta({ isStream: true })
      .input(TurnEventsInput)
      .query(
        withScope(
          'read',
          async ({ ctx, input }): Promise<ChatStream | null> => {
            if (!ctx.stream) throw badField('', 'This operation returns a stream. Call it with httpBatchStreamLink')
            const turn = await chats.reads.open({ caller: ctx.caller, ...input })
            if (!turn) return null
            holdAnswer(ctx)
            return new ChatStream(turn, ctx.stream)
          },
          'turn',
        ),
      ),

    /** Like `resume`, for the running turn of a session. Returns null if no turn is running. */
    resumeSession: procedure
      .meta({ isStream: true })
      .input(SessionStreamInput)
      .query(
        withScope(
          'read',
          async ({ ctx, input }): Promise<ChatStream | null> => {
            if (!ctx.stream) throw badField('', 'This operation returns a stream. Call it with httpBatchStreamLink')
            const turn = await chats.reads.openOfSession({ caller: ctx.caller, ...input })
            if (!turn) return null
            holdAnswer(ctx)
            return new ChatStream(turn, ctx.stream)
          },
          'session',
        ),
      ),

    stop: procedure
      .meta({
        openapi: {
          method: 'POST',
          path: '/api/chat/{turnId}/stop',
          operationId: 'stopChat',
          tags: ['Sessions'],
          summary: 'Stop a reply',
          description:
            'Stops a reply in progress and charges its usage so far. The stream ends with an `error` event that has `stopped: true`. Has no effect on a finished reply.',
          protect: true,
          successDescription: 'Whether the request stopped the reply.',
          errorResponses: {
            400: 'The id is malformed.',
            404: 'The turn was not found.',
            413: 'The body is too large.',
            415: 'The body is not JSON.',
          },
        },
        isBodyOptional: true,
      })
      .input(StopTurnInput)
      .output(StopTurnOutput)
      .mutation(
        withScope(
          'execute',
          async ({ ctx, input: { turnId } }) => {
            const stopped = await chats.reads.stop({ caller: ctx.caller, turnId })
            return { turnId, stopped }
          },
          'turn',
        ),
      ),
  })
