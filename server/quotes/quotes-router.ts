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
            'Returns the cost of a task or chat and guarantees it for ten minutes: a task or chat sent with the `quoteId` is charged at these prices even if they change. Nothing is charged or stored.',
          protect: true,
          successDescription: 'The quote.',
          errorResponses: {
            400: 'The body, the params or the message are invalid.',
            403: 'The cost exceeds `maxCostUsd` of the request or session, or a limit, or permission is missing.',
            404: 'The agent endpoint, the session or a connector was not found.',
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
