import type { z } from 'zod'
import { isVisibleTo, type Agent, type Catalogue, type Endpoint } from '../agents/config/catalogue.ts'
import { checkParams } from '../agents/config/params-schema.ts'
import { requireAgent, type Caller } from '../procedures/caller.ts'
import { budgetRefusal, limitRefusal } from '../billing/refusals.ts'
import { hashJson } from '../kernel/canonical-json.ts'
import type { EpochMs } from '../kernel/clock.ts'
import { ErrandError } from '../kernel/errors.ts'
import { chatHold, mostExpensiveUse, highestRates } from '../billing/chat-price.ts'
import { parseUsd, type Units } from '../kernel/money.ts'
import type { QuoteSubject, Quotes } from '../billing/quotes.ts'
import type { Store } from '../store/store.ts'
import type { CreateTaskInput } from './task-schema.ts'

type Input = Pick<z.output<typeof CreateTaskInput>, 'endpointId' | 'maxCostUsd' | 'params' | 'quoteId'>
type TaskCheck = {
  caller: Caller
  input: Input
  ownTick: () => Promise<void>
}

/**
 * Above this size, each pass over the params (hashing, validation) runs in its own event-loop tick. In a single tick,
 * all passes together blocked the event loop for 250 ms.
 */
const largeParamsChars = 64 * 1024

export function ticksFor(params: string, onLarge: () => Promise<void>): () => Promise<void> {
  return async () => {
    if (params.length > largeParamsChars) await onLarge()
  }
}

/** Throws if the endpoint does not exist for the caller, or if the params are invalid. */
export async function checkTask(
  catalogue: Catalogue,
  { caller, input, ownTick }: TaskCheck,
): Promise<{ agent: Agent; endpoint: Endpoint }> {
  const endpoint = catalogue.endpoint(input.endpointId)
  const agent = endpoint && catalogue.agent(endpoint.agentId)!
  // Treat an endpoint that is hidden from the caller as missing. Otherwise, validation errors would reveal its schema.
  if (!agent || !isVisibleTo(agent, caller.email))
    throw new ErrandError('NOT_FOUND', 'Agent endpoint not found. GET /api/agents lists the available endpoints.')
  requireAgent(caller, agent.id)
  await ownTick()
  const details = await checkParams(endpoint, input.params)
  const [first] = details
  if (first) throw new ErrandError('BAD_REQUEST', `${first.path}: ${first.message}`, { details })
  return { agent, endpoint }
}

type QuotedTask = Pick<Endpoint, 'price' | 'meters' | 'rates'>

/**
 * Returns the price of a task, from its quote or its endpoint. For a metered or token-priced task it is the maximum
 * cost, and `maxCostUsd` can lower it. Throws if `maxCostUsd` is below a fixed price, or too low for one event or two
 * tokens.
 */
export async function priceOf(
  quotes: Quotes,
  { caller, endpoint, input, ownTick }: TaskCheck & { endpoint: Endpoint },
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
  const { meters, price, rates } = terms
  const required = leastOf({ meters, price, rates })
  if (required > left) throw budgetRefusal({ left, required })
  return { price: Math.min(price, left), meters, rates, quoteId: id }
}

function leastOf({ meters, price, rates }: QuotedTask): Units {
  if (meters) return Math.min(...Object.values(meters))
  if (!rates) return price
  const most = highestRates(rates)
  return Math.min(price, Math.max(1, chatHold(mostExpensiveUse({ promptTokens: 1, completionTokens: 1 }, most), most)))
}

/**
 * Returns the current price of a task and a quote for it. Throws the same errors as creating the task, except for rate
 * limits and the balance.
 */
export async function quoteTask(
  { catalogue, quotes, store }: { catalogue: Catalogue; quotes: Quotes; store: Store },
  { caller, input, onLarge }: Pick<TaskCheck, 'caller' | 'input'> & { onLarge: () => Promise<void> },
): Promise<QuotedTask & { quoteId: string; expiresAt: EpochMs }> {
  const ownTick = ticksFor(JSON.stringify(input.params), onLarge)
  const { endpoint } = await checkTask(catalogue, { caller, input, ownTick })
  const { meters, price, rates } = await priceOf(quotes, { caller, endpoint, input, ownTick })
  const { limits, userId } = caller
  const asked = { userId, agentId: endpoint.agentId, required: price, limits, payloadBytes: 1 }
  const refused = await store.foreseeLimits(asked)
  if (refused) throw limitRefusal(refused)
  await ownTick()
  const terms: QuotedTask = { price, meters, rates }
  return { ...terms, ...quotes.issue(subjectOf(caller, input), terms) }
}

function subjectOf({ userId }: Caller, { endpointId, params }: Input): QuoteSubject {
  return { userId, hash: hashJson({ task: { endpointId, params } }) }
}
