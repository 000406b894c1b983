import { badField } from '../kernel/errors.ts'
import { callerTurn, holdAnswer } from '../rpc/hold-answer.ts'
import { procedure, router, withScope } from '../rpc/trpc.ts'
import type { RateState } from '../store/records.ts'
import { ChatInput } from './chat-schema.ts'
import { ChatStream } from './chat-stream.ts'

export const chatRouter = router({
  /** Admission is over when the resolver returns, so a refusal is still an answer with a status of its own. */
  stream: procedure
    .meta({ isStream: true })
    .input(ChatInput)
    .mutation(
      withScope(
        'execute',
        async ({ ctx, input }): Promise<ChatStream> => {
          const { about, caller, idempotencyKey, services } = ctx
          if (!ctx.stream) throw badField('', 'A chat is a stream; call it through httpBatchStreamLink')
          const { left: signal } = ctx.stream
          const onRate = (rate: RateState) => (ctx.rate = rate)
          const onLarge = () => callerTurn(ctx)
          const onWait = () => holdAnswer(ctx)
          const told = { onLarge, onRate, onWait }
          const turn = await services.chats.start({ about, caller, idempotencyKey, input, signal, ...told })
          // A client that leaves before it reads never ends the stream that it was given.
          if (signal.aborted) turn.stop('disconnect')
          else signal.addEventListener('abort', () => turn.stop('disconnect'), { once: true })
          holdAnswer(ctx)
          return new ChatStream(turn, ctx.stream)
        },
        'session',
      ),
    ),
})
