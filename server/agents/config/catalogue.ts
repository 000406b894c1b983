import type { z } from 'zod'
import { unreachable } from '../../kernel/assert.ts'
import { ConfigError } from '../../kernel/settings.ts'
import { badField } from '../../kernel/errors.ts'
import { parseUsd, type Units } from '../../kernel/money.ts'
import { messageOf } from '../../kernel/thrown.ts'
import {
  type cancelModes,
  configSchema,
  type LoginProvider,
  type ParsedAgent,
  type ParsedConfig,
  type StdioServer,
} from './agent-schema.ts'
import type { AgentConfig, ErrandConfig, JsonSchema, OpenAIAgentConfig } from './define-config.ts'
import { httpReply, httpRun } from '../http/http-agent.ts'
import { modelReply, modelRun, textsBeside } from '../model/model-agent.ts'
import { asModelAgent } from '../model/openai-model.ts'
import type { FileBounds } from '../files/file-tokens.ts'
import type { ResponseFormat } from '../run/chat-messages.ts'
import type { ReplyConfig } from '../run/execute-reply.ts'
import { replyRun } from '../run/reply-task.ts'
import type { EndpointRun } from '../run/endpoint-run.ts'
import { withOutput } from '../run/check-output.ts'
import { noPlans, type AccountLimits, type Plans, type Retention } from '../../store/limits/account-limits.ts'
import { PriceError, type PriceLists } from '../prices/price-lists.ts'
import { readCost, readPrices, type ChatPrices } from '../prices/read-prices.ts'
import { joinRates, type ChatRates } from '../../billing/chat-price.ts'
import type { ParsedPricing } from './rates-schema.ts'
import { issuePath } from '../../kernel/bad-input.ts'
import { toJsonSchema, toOutputSchema, toZodSchema } from './params-schema.ts'

export type Endpoint = {
  /** `<agentId>.<name>` */
  id: string
  agentId: string
  name: string
  description: string
  /** Price of a task. For metered and token-priced endpoints, the maximum price. */
  price: Units
  /** Price of each event of a metered endpoint. Null for other endpoints. */
  meters: Readonly<Record<string, Units>> | null
  /** Rates of a token-priced endpoint, including its fallback models. Null for other endpoints. */
  rates: ChatRates | null
  /** Rates that model providers charge the operator, one entry per model in `modelIds`. Null if no rate is known. */
  costs: readonly (ChatRates | null)[] | null
  /** Ids of the agent's model and its fallbacks. A single null for a `reply`. Empty if the service counts no tokens. */
  modelIds: readonly (string | null)[]
  timeoutMs: number
  retries: number
  /** `always`: users may cancel a task even while it runs. `pending`: only before it starts. */
  cancel: (typeof cancelModes)[number]
  /**
   * Maximum number of tokens that the user's connectors may add to the prompts of a run. 0 if the endpoint accepts no
   * connectors.
   */
  connectorTokensMax: number
  paramsJsonSchema: JsonSchema
  params: z.ZodType
  /** Null if the endpoint declares no `output`. */
  outputJsonSchema: JsonSchema | null
  run: (run: EndpointRun) => unknown
}

export type Chat = FileBounds &
  ReplyConfig & {
    /** Rates that users pay. Includes the rates of fallback models. */
    rates: ChatRates
    /** The agent's own model, then its fallbacks. Code and http agents have a single entry without a model id. */
    models: readonly ModelPrices[]
    /** Whether the provider bills for reasoning that it does not stream. */
    hidesReasoning: boolean
    /** Media types of the files that a message may contain. Empty if the chat accepts no files. */
    accepts: readonly string[]
    /**
     * Strings that every model request contains in addition to messages and tools. Empty for code and http agents, which
     * report their prompt sizes themselves.
     */
    textsBeside: (format: ResponseFormat | undefined) => readonly string[]
  }

/** Agent kinds that can run. An `openai` agent is first converted to a `model` agent. */
type RunnableAgent = Exclude<AgentConfig, OpenAIAgentConfig>

export const agentKinds = ['code', 'model', 'http'] as const satisfies readonly RunnableAgent['kind'][]

export type Agent = {
  /** Generation of the catalogue that defines the agent. Only threads of this generation run it. */
  generation: number
  id: string
  kind: RunnableAgent['kind']
  name: string
  description: string
  visibility: 'public' | readonly string[]
  endpoints: readonly Endpoint[]
  toolNames: readonly string[]
  /** Null if the agent does not support chat. */
  chat: Chat | null
}

/**
 * The validated agents of one configuration. Each agent thread builds its own catalogue from the same file. A reload
 * replaces the content of the service's catalogue and increments its generation.
 */
export class Catalogue {
  readonly generation: number
  readonly agents: readonly Agent[]
  readonly connectorServers: ReadonlyMap<string, StdioServer>
  readonly loginProviders: readonly LoginProvider[]
  readonly plans: Plans
  readonly retention: Retention
  #endpoints = new Map<string, Endpoint>()
  #agents = new Map<string, Agent>()

  /** `priceLists` is null in agent threads, which receive the rates with each chat request. */
  constructor(
    config: Pick<ErrandConfig, 'agents' | 'connectors' | 'login' | 'plans' | 'defaultPlan' | 'retention'>,
    priceLists: PriceLists | null,
    generation = 0,
  ) {
    this.generation = generation
    const parsed = configSchema.safeParse(config)
    if (!parsed.success) {
      const wrong = parsed.error.issues.map((issue) => `${issuePath('', issue.path)}: ${issue.message}`)
      throw new ConfigError(`The configuration is invalid: ${wrong.join('; ')}`)
    }
    this.connectorServers = new Map(Object.entries(parsed.data.connectors.servers))
    this.loginProviders = parsed.data.login.providers
    const providerIds = this.loginProviders.map((provider) => provider.id)
    const twice = providerIds.find((id, index) => providerIds.indexOf(id) !== index)
    if (twice !== undefined)
      throw new ConfigError(`login.providers: the id "${twice}" is used twice. Give each provider a unique id`)
    this.agents = parsed.data.agents.map((agent, index) => {
      const source = config.agents[index]!
      if (agent.kind !== 'openai') return { ...toAgent(agent, source as RunnableAgent, priceLists), generation }
      const asModel = asModelAgent(source as OpenAIAgentConfig)
      const { apiKey: _, baseUrl: __, supportsStructuredOutputs: ___, ...own } = agent
      return { ...toAgent({ ...own, kind: 'model', model: asModel.model }, asModel, priceLists), generation }
    })
    for (const agent of this.agents) {
      if (this.#agents.has(agent.id))
        throw new ConfigError(`agents: the id "${agent.id}" is used twice. Give each agent a unique id`)
      this.#agents.set(agent.id, agent)
      for (const endpoint of agent.endpoints) this.#endpoints.set(endpoint.id, endpoint)
    }
    this.plans = toPlans(parsed.data)
    const { sessionsDays, tasksDays } = parsed.data.retention
    this.retention = { sessionsMs: days(sessionsDays), tasksMs: days(tasksDays) }
  }

  replaceWith(next: Catalogue): void {
    Object.assign(this, next)
    this.#endpoints = next.#endpoints
    this.#agents = next.#agents
  }

  agent(agentId: string): Agent | undefined {
    return this.#agents.get(agentId)
  }

  endpoint(endpointId: string): Endpoint | undefined {
    return this.#endpoints.get(endpointId)
  }
}

function days(count: number | undefined): number | undefined {
  return count && count * 86_400_000
}

function toPlans({ agents, defaultPlan, plans }: ParsedConfig): Plans {
  const named = new Map<string, AccountLimits>()
  for (const [name, plan] of Object.entries(plans)) {
    const unknown = plan.agents?.find((agentId) => !agents.some(({ id }) => id === agentId))
    if (unknown !== undefined)
      throw new ConfigError(`plans.${name}.agents: "${unknown}" must be the id of an agent in agents`)
    named.set(name, {
      executionsPerMinute: plan.executionsPerMinute ?? null,
      tasksAtWork: plan.tasksAtWork ?? null,
      tasksWaiting: plan.tasksWaiting ?? null,
      spendPerDay: plan.spendPerDayUsd === undefined ? null : parseUsd(plan.spendPerDayUsd)!,
      agents: plan.agents ?? null,
    })
  }
  if (defaultPlan === undefined) return { ...noPlans, named }
  const byDefault = named.get(defaultPlan)
  if (!byDefault) throw new ConfigError(`defaultPlan: "${defaultPlan}" must be the name of a plan in plans`)
  return { named, byDefault, defaultName: defaultPlan }
}

function toAgent(agent: ParsedAgent, source: RunnableAgent, priceLists: PriceLists | null): Omit<Agent, 'generation'> {
  const { id, kind, name, description, visibility } = agent
  const toolNames = source.kind === 'model' ? Object.keys(source.tools ?? {}) : []
  const names = Object.keys(agent.endpoints)
  const endpoints = names.map((endpoint) => toEndpoint(agent, source, { name: endpoint, priceLists }))
  const chat = withPrices(id, () => toChat(agent, source, priceLists))
  return { id, kind, name, description, visibility, endpoints, toolNames, chat }
}

function toEndpoint(
  agent: ParsedAgent,
  source: RunnableAgent,
  { name, priceLists }: { name: string; priceLists: PriceLists | null },
): Endpoint {
  const endpoint = agent.endpoints[name]!
  const endpointId = `${agent.id}.${name}`
  const price = withPrices(endpointId, () => toPrice(agent, endpoint, priceLists))
  // Use the source object, because the parsed copy lacks a Zod schema's methods and `run`'s `this`.
  const own = source.endpoints![name]!
  try {
    return {
      id: endpointId,
      agentId: agent.id,
      name,
      description: endpoint.description,
      ...price,
      modelIds: modelIdsOf(agent, endpoint),
      timeoutMs: endpoint.timeoutSeconds * 1000,
      retries: endpoint.retries,
      cancel: endpoint.cancel,
      connectorTokensMax: agent.kind === 'http' ? 0 : agent.endpoints[name]!.connectorTokensMax,
      paramsJsonSchema: toJsonSchema(own.params),
      params: toZodSchema(own.params),
      outputJsonSchema: own.output ? toOutputSchema(own.output) : null,
      run: runOf(source, name),
    }
  } catch (error) {
    throw new ConfigError(
      `agents: a schema of "${endpointId}" is unusable: ${messageOf(error)}. Use a Zod schema or a JSON Schema`,
    )
  }
}

type ParsedEndpoint = ParsedAgent['endpoints'][string]

function modelIdsOf(agent: ParsedAgent, endpoint: ParsedEndpoint): Endpoint['modelIds'] {
  if (agent.kind === 'model') return [agent, ...agent.fallbacks].map(({ model }) => model.modelId)
  return 'reply' in endpoint && endpoint.reply ? [null] : []
}

function withPrices<Value>(id: string, read: () => Value): Value {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof PriceError)) throw error
    throw new ConfigError(`agents: the pricing of "${id}" is invalid: ${error.message}`)
  }
}

type Priced = Pick<Endpoint, 'price' | 'meters' | 'rates' | 'costs'>

function toPrice(agent: ParsedAgent, endpoint: ParsedEndpoint, priceLists: PriceLists | null): Priced {
  const { priceUsd, pricing } = endpoint
  const price = parseUsd(pricing?.maxUsd ?? priceUsd!)!
  const fixed = { price, meters: null, rates: null, costs: null }
  if (agent.kind === 'model') {
    const tokens = pricing && 'tokens' in pricing ? pricing.tokens : undefined
    if (tokens) {
      const [first, ...others] = modelPrices(agent, tokens, priceLists)
      const rates = joinRates([first.rates, ...others.map((one) => one.rates)])
      return { ...fixed, rates, costs: [first.cost, ...others.map(({ cost }) => cost)] }
    }
    const { caching } = agent
    const costs = [agent, ...agent.fallbacks].map(({ cost = agent.cost, model }) =>
      readCost({ cost, caching, paysCacheWrites: marksPrompts(model) }, priceLists),
    )
    return costs.every((cost) => cost === null) ? fixed : { ...fixed, costs }
  }
  if ('reply' in endpoint && endpoint.reply) {
    const { cost, pricing: own } = endpoint
    if (!own?.tokens) return { ...fixed, costs: cost ? [readCost({ cost, caching: false }, priceLists)] : null }
    const { cost: paid, rates } = readPrices({ cost, pricing: own.tokens, caching: false }, priceLists)
    return { ...fixed, rates, costs: [paid] }
  }
  if (!pricing || !('events' in pricing)) return fixed
  const meters = Object.entries(pricing.events!).map(([event, usd]) => [event, parseUsd(usd)!])
  return { ...fixed, meters: Object.fromEntries(meters) as Record<string, Units> }
}

function marksPrompts({ provider }: { provider: string }): boolean {
  return /anthropic|bedrock/i.test(provider)
}

type ParsedModelAgent = Extract<ParsedAgent, { kind: 'model' }>
type ModelPrices = ChatPrices & { id: string | null }

function modelPrices(
  { caching, cost, fallbacks, model }: ParsedModelAgent,
  pricing: ParsedPricing,
  priceLists: PriceLists | null,
): [ModelPrices, ...ModelPrices[]] {
  const named = (id: string, { cost: own, rates }: ChatPrices): ModelPrices => ({
    id,
    cost: own,
    rates: { ...rates, model: id },
  })
  const others = fallbacks.map((own) => {
    // Only Anthropic and Bedrock honor cache marks and charge for cache writes.
    const paysCacheWrites = marksPrompts(own.model)
    const marked = paysCacheWrites && caching
    const prices = { cost: own.cost ?? cost, pricing: own.pricing ?? pricing, caching: marked, paysCacheWrites }
    return named(own.model.modelId, readPrices(prices, priceLists))
  })
  const prices = { cost, pricing, caching, paysCacheWrites: marksPrompts(model) }
  return [named(model.modelId, readPrices(prices, priceLists)), ...others]
}

function runOf(source: RunnableAgent, name: string): Endpoint['run'] {
  switch (source.kind) {
    case 'code': {
      const endpoint = source.endpoints![name]!
      const run: Endpoint['run'] = 'reply' in endpoint ? replyRun(endpoint) : (own) => endpoint.run(own)
      return withOutput(endpoint.output, run)
    }
    case 'model':
      return modelRun(source, name)
    case 'http':
      return withOutput(source.endpoints![name]!.output, httpRun(source, name))
    default:
      return unreachable(source)
  }
}

function toChat(agent: ParsedAgent, source: RunnableAgent, priceLists: PriceLists | null): Chat | null {
  const bounds = agent.kind === 'model' ? agent : agent.chat
  if (!bounds?.pricing) return null
  const { pricing } = bounds
  const models: [ModelPrices, ...ModelPrices[]] =
    agent.kind === 'model'
      ? modelPrices(agent, pricing, priceLists)
      : [{ id: null, ...readPrices({ cost: bounds.cost, pricing, caching: false }, priceLists) }]
  const [first, ...others] = models
  const { accepts, contextTokens, documentTokensMax, imageTokensMax, maxOutputTokens, reasoning: hasReasoning } = bounds
  return {
    rates: joinRates([first.rates, ...others.map(({ rates }) => rates)]),
    models,
    contextTokens,
    maxOutputTokens,
    hasReasoning,
    caching: agent.kind === 'model' && agent.caching,
    hidesReasoning: agent.kind === 'model' && agent.hiddenReasoning,
    accepts,
    imageTokensMax,
    documentTokensMax,
    isModel: agent.kind === 'model',
    textsBeside: (format) => (source.kind === 'model' ? textsBeside(source, format) : []),
    connectorTokensMax: agent.kind === 'http' ? 0 : agent.connectorTokensMax,
    reply: replyOf(source),
  }
}

function replyOf(source: RunnableAgent): Chat['reply'] {
  switch (source.kind) {
    case 'code':
      return (run) => source.chat!.reply(run)
    case 'model':
      return modelReply(source)
    case 'http':
      return httpReply(source)
    default:
      return unreachable(source)
  }
}

export function isVisibleTo(agent: Agent, email: string): boolean {
  const { visibility } = agent
  return visibility === 'public' || visibility.some((allowed) => allowed.toLowerCase() === email.toLowerCase())
}

type NamedAgents = {
  agentIds: readonly string[] | null | undefined
  path: string
  email?: string
}

/** Throws a 400 error if an agent id is unknown or, if `email` is set, hidden from that user. */
export function assertAgents(catalogue: Catalogue, { agentIds, email, path }: NamedAgents): void {
  const isKnown = (agentId: string) => {
    const agent = catalogue.agent(agentId)
    return agent !== undefined && (email === undefined || isVisibleTo(agent, email))
  }
  const at = agentIds?.findIndex((agentId) => !isKnown(agentId)) ?? -1
  if (at >= 0) throw badField(`${path}[${at}]`, 'Agent not found. GET /api/agents lists the available agents')
}
