import { z } from 'zod'
import { WrittenRates, writtenRates } from '../billing/written-rates.ts'
import { writtenPricing } from '../billing/event-charges.ts'
import { ErrandError } from '../kernel/errors.ts'
import { formatUsd } from '../kernel/money.ts'
import { procedure, router, withScope } from '../procedures/procedure.ts'
import { pageInput, pageOutput, resourceId, usd } from '../kernel/wire-types.ts'
import { limitsOf, type AccountLimits, type AccountPlan, type Plans } from '../store/limits/account-limits.ts'
import { cancelModes } from './config/agent-schema.ts'
import type { Caller } from '../procedures/caller.ts'
import {
  agentKinds,
  isVisibleTo,
  type Agent as CatalogueAgent,
  type Catalogue,
  type Chat,
  type Endpoint as CatalogueEndpoint,
} from './config/catalogue.ts'
import { ratesByModel, type ChatRates } from '../billing/chat-price.ts'

const EventPricing = z
  .object({
    events: z.record(z.string(), usd).describe('Price per event, by event name'),
    maxUsd: usd.describe('Charged when a task is created; the unused part is returned when it completes'),
  })
  .meta({ id: 'EventPricing' })

const Fallbacks = z
  .array(z.object({ model: z.string(), pricing: WrittenRates }))
  .optional()
  .describe('Fallback models, with their own prices, for when the first model cannot answer; omitted if there are none')

const TokenPricing = z
  .object({
    rates: WrittenRates,
    maxUsd: usd.describe('Charged when the task is created; the unused part is returned when it completes'),
    fallbacks: Fallbacks,
  })
  .meta({ id: 'TokenPricing' })

const Endpoint = z
  .object({
    id: z.string().describe('`<agentId>.<name>`'),
    name: z.string(),
    description: z.string(),
    priceUsd: usd.describe('Price of a task; for a metered or token-priced endpoint, its maximum price'),
    pricing: EventPricing.optional().describe('Prices of events; only for metered endpoints'),
    tokenPricing: TokenPricing.optional().describe('Rates of tokens; only for token-priced endpoints'),
    timeoutSeconds: z.number(),
    cancel: z
      .enum(cancelModes)
      .describe(
        '`always`: a task can be canceled until it calls a connector or charges for an event; `pending`: a task can be canceled only before an agent starts it',
      ),
    takesConnectors: z.boolean().describe('Whether a task can name connectors; if false, `connectorIds` is rejected'),
    params: z.record(z.string(), z.unknown()).describe('JSON Schema of the params'),
    output: z
      .record(z.string(), z.unknown())
      .optional()
      .describe('JSON Schema of the response; omitted if the endpoint does not declare one'),
  })
  .meta({ id: 'Endpoint' })

const AgentChat = z
  .object({
    pricing: WrittenRates,
    fallbacks: Fallbacks,
    contextTokens: z
      .number()
      .int()
      .describe('Maximum number of tokens in the message and history sent to the agent for a reply'),
    maxOutputTokens: z.number().int().describe('Highest `maxTokens` that a turn can set'),
    reasoning: z.boolean().describe('Whether reasoning is streamed'),
    accepts: z
      .array(z.string())
      .describe('Media types of files that a message can include, such as `image/*`; empty if files are not accepted'),
    takesConnectors: z
      .boolean()
      .describe('Whether a session can name connectors; if false, `connectorIds` is rejected'),
  })
  .meta({ id: 'AgentChat' })

const Agent = z
  .object({
    id: z.string(),
    kind: z.enum(agentKinds),
    name: z.string(),
    description: z.string(),
    endpoints: z.array(Endpoint),
    chat: AgentChat.nullable().describe('Null if the agent does not support chat'),
    inPlan: z
      .boolean()
      .describe("Whether the account's plan and limits include the agent; if false, its runs are rejected"),
    plans: z
      .array(z.string())
      .optional()
      .describe('Names of the plans that include the agent; only if `inPlan` is false'),
  })
  .meta({ id: 'Agent' })
type Agent = z.output<typeof Agent>

const tags = ['Agents']

export const agentsRouter = (catalogue: Catalogue) =>
  router({
    list: procedure
      .meta({
        openapi: {
          method: 'GET',
          path: '/api/agents',
          operationId: 'listAgents',
          tags,
          summary: 'List the agents available to the caller',
          description:
            'Includes the price and the JSON Schemas of the params and response of each endpoint, and the chat rates of each agent that supports chat.',
          protect: true,
          successDescription: 'One page of agents with their endpoints, schemas and prices.',
          errorResponses: { 400: 'A parameter is invalid.' },
        },
      })
      .input(z.object(pageInput))
      .output(z.object({ agents: z.array(Agent), ...pageOutput }))
      .query(
        withScope(
          'read',
          ({ ctx, input }) => {
            const { limit, offset } = input
            const visible = agentsFor(catalogue, ctx.caller)
            const page = visible.slice(offset, offset + limit)
            const { account } = ctx.caller
            return {
              agents: page.map((agent) => toAgent(agent, { account, plans: catalogue.plans })),
              total: visible.length,
              limit,
              offset,
            }
          },
          'account',
        ),
      ),

    get: procedure
      .meta({
        openapi: {
          method: 'GET',
          path: '/api/agents/{agentId}',
          operationId: 'getAgent',
          tags,
          summary: 'Get an agent',
          description: 'Returns 404 for agents that are not available to the caller.',
          protect: true,
          successDescription: 'The agent with its endpoints, schemas and prices.',
          errorResponses: { 400: 'A parameter is invalid.', 404: 'The agent was not found.' },
        },
      })
      .input(z.object({ agentId: resourceId }))
      .output(Agent)
      .query(
        withScope(
          'read',
          ({ ctx, input }) => {
            const agent = catalogue.agent(input.agentId)
            // Hidden agents get the same 404 as missing ones, so that callers cannot detect them.
            if (!agent || !isVisibleTo(agent, ctx.caller.email))
              throw new ErrandError('NOT_FOUND', 'Agent not found. GET /api/agents lists the available agents.')
            return toAgent(agent, { account: ctx.caller.account, plans: catalogue.plans })
          },
          'account',
        ),
      ),
  })

export function agentsFor(catalogue: Catalogue, { agents, email }: Caller): CatalogueAgent[] {
  return catalogue.agents.filter((agent) => isVisibleTo(agent, email) && (agents === null || agents.includes(agent.id)))
}

function tokenPricingOf({ modelIds, price }: CatalogueEndpoint, rates: ChatRates): z.output<typeof TokenPricing> {
  const [, ...others] = ratesByModel(rates)
  const fallbacks = others.map((own, at) => ({ model: modelIds[at + 1] ?? '', pricing: writtenRates(own) }))
  return { rates: writtenRates(rates), maxUsd: formatUsd(price), ...(fallbacks.length > 0 && { fallbacks }) }
}

function fallbacksOf({ models: [, ...others] }: Chat): Pick<z.output<typeof AgentChat>, 'fallbacks'> {
  if (others.length === 0) return {}
  return { fallbacks: others.map(({ id, rates }) => ({ model: id ?? '', pricing: writtenRates(rates) })) }
}

function toAgent(agent: CatalogueAgent, { account, plans }: { account: AccountPlan; plans: Plans }): Agent {
  const { id, kind, name, description, endpoints, chat } = agent
  const isIncluded = ({ agents }: AccountLimits) => agents === null || agents.includes(id)
  const inPlan = isIncluded(limitsOf(account, plans))
  return {
    id,
    kind,
    name,
    description,
    endpoints: endpoints.map((endpoint) => ({
      id: endpoint.id,
      name: endpoint.name,
      description: endpoint.description,
      priceUsd: formatUsd(endpoint.price),
      ...(endpoint.meters && { pricing: writtenPricing({ prices: endpoint.meters, cap: endpoint.price }) }),
      ...(endpoint.rates && { tokenPricing: tokenPricingOf(endpoint, endpoint.rates) }),
      timeoutSeconds: endpoint.timeoutMs / 1000,
      cancel: endpoint.cancel,
      takesConnectors: endpoint.connectorTokensMax > 0,
      params: endpoint.paramsJsonSchema,
      ...(endpoint.outputJsonSchema && { output: endpoint.outputJsonSchema }),
    })),
    chat: chat && {
      pricing: writtenRates(chat.rates),
      ...fallbacksOf(chat),
      contextTokens: chat.contextTokens,
      maxOutputTokens: chat.maxOutputTokens,
      reasoning: chat.hasReasoning,
      accepts: [...chat.accepts],
      takesConnectors: chat.connectorTokensMax > 0,
    },
    inPlan,
    ...(!inPlan && { plans: [...plans.named].flatMap(([name, limits]) => (isIncluded(limits) ? [name] : [])) }),
  }
}
