import { createQuote, type QuoteParts } from './create-quote.ts'
import { callerTurn } from '../procedures/hold-answer.ts'
import { procedure, router, withWrite } from '../procedures/procedure.ts'
import { Quote, QuoteInput } from './quote-schema.ts'

export const quotesRouter = (parts: QuoteParts) =>
  router({
    create: procedure
      .meta({
        openapi: {
          method: 'POST',
          path: '/api/quotes',
          operationId: 'createQuote',
          tags: ['Billing'],
          summary: 'Get a quote',
          description:
            'Returns the price of a task, or the rates of a turn, and guarantees them for ten minutes. A task or message sent with the `quoteId` is charged at these prices, even if they change. Nothing is charged or stored.',
          protect: true,
          successDescription: 'The quote.',
          errorResponses: {
            400: 'The body, the params or the message is invalid.',
            403: 'The cost exceeds a limit or the `maxCostUsd` of the request or session, or the caller lacks permission.',
            404: 'The agent or its endpoint, the session or a connector was not found.',
            409: 'The session is completed.',
            410: 'The session has expired.',
            413: 'The body is too large.',
            415: 'The body is not JSON.',
          },
        },
      })
      .input(QuoteInput)
      .output(Quote)
      .mutation(
        withWrite(
          'execute',
          ({ ctx, input }) => {
            const { about, caller } = ctx
            const onLarge = () => callerTurn(ctx)
            return createQuote(parts, { about, caller, input, onLarge })
          },
          'account',
        ),
      ),
  })
