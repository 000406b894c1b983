import type { z } from 'zod'
import { checkParams, isVisibleTo, type Agent, type Catalogue, type Endpoint } from '../agents/config/catalogue.ts'
import { requireAgent, type Caller } from '../auth/caller.ts'
import { budgetRefusal, limitRefusal } from '../billing/refusals.ts'
import { hashJson } from '../kernel/canonical-json.ts'
import type { EpochMs } from '../kernel/clock.ts'
import { ErrandError } from '../kernel/errors.ts'
import { parseUsd } from '../kernel/money.ts'
import type { QuoteSubject, Quotes } from '../quotes/quotes.ts'
import type { Store } from '../store/store.ts'
import type { CreateTaskInput } from './task-schema.ts'

type Input = Pick<z.output<typeof CreateTaskInput>, 'endpointId' | 'maxCostUsd' | 'params' | 'quoteId'>
type Asked = {
  caller: Caller
  input: Input
  /** Resolves in a tick of the event loop in which the params may be gone through. */
  ownTick: () => Promise<void>
}

/** Params with more text are gone through in a tick for each piece of work on them: all together took a quarter of a second. */
const largeParamsChars = 64 * 1024

export function ticksFor(params: string, onLarge: () => Promise<void>): () => Promise<void> {
  return async () => {
    if (params.length > largeParamsChars) await onLarge()
  }
}

/** Throws where the caller has no such endpoint, or it does not take the params. */
export async function checkTask(
  catalogue: Catalogue,
  { caller, input, ownTick }: Asked,
): Promise<{ agent: Agent; endpoint: Endpoint }> {
  const endpoint = catalogue.endpoint(input.endpointId)
  const agent = endpoint && catalogue.agent(endpoint.agentId)!
  // One that is not for the caller is not there, or its schema could be read off the refusals of params.
  if (!agent || !isVisibleTo(agent, caller.email)) throw new ErrandError('NOT_FOUND', 'Agent endpoint not found')
  requireAgent(caller, agent.id)
  await ownTick()
  const details = await checkParams(endpoint, input.params)
  const [first] = details
  if (first) throw new ErrandError('BAD_REQUEST', `${first.path}: ${first.message}`, { details })
  return { agent, endpoint }
}

type QuotedTask = Pick<Endpoint, 'price' | 'meters'>

/**
 * What the task is charged: the price of its endpoint, or that of its quote. Throws where it may not cost as much. Of a metered
 * task that is the most that it may come to, which its cap lowers, as long as that pays for one event.
 */
export async function priceOf(
  quotes: Quotes,
  { caller, endpoint, input, ownTick }: Asked & { endpoint: Endpoint },
): Promise<QuotedTask & { quoteId: string | null }> {
  const { maxCostUsd, quoteId } = input
  let terms: QuotedTask = endpoint
  let id: string | null = null
  if (quoteId !== undefined) {
    await ownTick()
    const quote = quotes.open<QuotedTask>(subjectOf(caller, input), quoteId)
    terms = quote.terms
    id = quote.id
  }
  const left = maxCostUsd === undefined ? Infinity : parseUsd(maxCostUsd)!
  const { meters, price } = terms
  const required = meters ? Math.min(...Object.values(meters)) : price
  if (required > left) throw budgetRefusal({ left, required })
  return { price: Math.min(price, left), meters, quoteId: id }
}

/** The price of a task as it is now, and the quote of it. Throws as its creation would, but for rates and the balance. */
export async function quoteTask(
  { catalogue, quotes, store }: { catalogue: Catalogue; quotes: Quotes; store: Store },
  { caller, input, onLarge }: Pick<Asked, 'caller' | 'input'> & { onLarge: () => Promise<void> },
): Promise<QuotedTask & { quoteId: string; expiresAt: EpochMs }> {
  const ownTick = ticksFor(JSON.stringify(input.params), onLarge)
  const { endpoint } = await checkTask(catalogue, { caller, input, ownTick })
  const { meters, price } = await priceOf(quotes, { caller, endpoint, input, ownTick })
  const { limits, userId } = caller
  const asked = { userId, agentId: endpoint.agentId, required: price, limits, payloadBytes: 1 }
  const refused = await store.foreseeLimits(asked)
  if (refused) throw limitRefusal(refused)
  await ownTick()
  const terms: QuotedTask = { price, meters }
  return { ...terms, ...quotes.issue(subjectOf(caller, input), terms) }
}

function subjectOf({ userId }: Caller, { endpointId, params }: Input): QuoteSubject {
  return { userId, hash: hashJson({ task: { endpointId, params } }) }
}
