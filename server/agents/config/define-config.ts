import type { z } from 'zod'
import type { AgentLog, ChatConfig, ChatMessage, ChatPart, ChatRun } from './chat-config.ts'
import type { ChatCost, ChatPricing, EventPricing, TokenTaskPricing } from './pricing-config.ts'
import type * as service from './service-config.ts'
import type { Connectors, JsonSchema } from '../../connectors/tool-types.ts'
export type * from './chat-config.ts'
export * from './pricing-config.ts'
export type * from './service-config.ts'
export type { Connectors, ConnectorTool, JsonSchema, ToolAnswer } from '../../connectors/tool-types.ts'

/** A Zod 4 schema or a JSON Schema for an endpoint's `params` or `output`. It must describe an object. */
export type ParamsSchema = z.ZodType | JsonSchema

/** The type of a run's params: the output type of a Zod schema, or a plain object for a JSON Schema. */
export type ParamsOf<Schema> = Schema extends z.ZodType ? z.output<Schema> : Record<string, unknown>

/** The type that `run` returns: the input type of a Zod schema, or any value. */
export type ResultOf<Schema> = Schema extends z.ZodType ? z.input<Schema> | PromiseLike<z.input<Schema>> : unknown

/** Progress of a run, at most 4,096 bytes of JSON. */
export type TaskProgress = {
  /** A number from 0 to 1. */
  readonly fraction?: number | undefined
  readonly message?: string | undefined
  /** Any JSON value. */
  readonly data?: unknown
}

/** The argument of an endpoint's `run`. `signal` aborts when the endpoint times out or the service stops the run. */
export type TaskRun<Params = Record<string, unknown>> = {
  readonly params: Params
  readonly connectors: Connectors
  readonly userId: string
  readonly taskId: string
  readonly signal: AbortSignal
  readonly log: AgentLog
  /**
   * Reports progress to the clients that follow the task. You can call it as often as you like, because only the latest
   * value counts. Throws if the value is invalid. Does nothing after the run has ended.
   */
  readonly progress: (progress: TaskProgress) => void
  /**
   * Charges `count` events (default 1) at their price in the endpoint's `pricing`. Returns how many of them fit into
   * the task's maximum price and were charged. Do the work for only that many events. Throws if the event has no price
   * or the run has ended.
   */
  readonly charge: (event: string, count?: number) => number
  /**
   * W3C trace context of the run. Send it in the `traceparent` header of outgoing requests to make them part of the
   * run's trace. Undefined if tracing is off.
   */
  readonly traceparent?: string
}

type EndpointPrice = { readonly priceUsd: string } | { readonly pricing: EventPricing }

/** An operation of an agent. Clients run it as a task. Its id in the API is `<agentId>.<name>`. */
export type EndpointConfig<
  Schema extends ParamsSchema = ParamsSchema,
  Output extends ParamsSchema | undefined = ParamsSchema | undefined,
> = EndpointFields<Schema, Output> & EndpointPrice

type EndpointFields<Schema extends ParamsSchema, Output extends ParamsSchema | undefined> = {
  /** Description shown to users and in the API reference. */
  readonly description: string
  /**
   * Price of one execution in USD with at most four decimals, for example `'0.0100'`. Set either this or `pricing`.
   */
  readonly priceUsd?: string
  /**
   * Prices of the events that a run charges, and the maximum price of a task. Set either this or `priceUsd`. Endpoints
   * of model agents and endpoints with a `reply` charge for tokens instead: `pricing: { tokens, maxUsd }`.
   */
  readonly pricing?: EventPricing
  /** Schema of the `params` that callers must send. */
  readonly params: Schema
  /**
   * Schema of the response. If set, a result that does not match fails the task, and unknown fields of a Zod object are
   * removed from the response.
   */
  readonly output?: Output
  /** Seconds from the start of a run until the task fails with AGENT_TIMEOUT; 300 by default. */
  readonly timeoutSeconds?: number
  /**
   * When users may cancel a task: always (`'always'`, the default), or only before the agent starts it (`'pending'`). A
   * canceled task is refunded in full.
   */
  readonly cancel?: 'always' | 'pending'
  /** How many times to retry a run that the service interrupted; 0 by default. Failed runs are never retried. */
  readonly retries?: number
  /**
   * Maximum number of tokens that users' connectors may add to all prompts of a run; 100,000 by default. Each byte
   * counts as one token. Tool descriptions and tool results both count. For a model agent, they count again with each
   * model call, because each call sends them again. A model that has used the maximum cannot call further tools. If 0,
   * the endpoint accepts no connectors.
   */
  readonly connectorTokensMax?: number
  /**
   * Runs the task. If it returns an object or a string, that is the response. Any other value becomes `{ result: value
   * }`.
   */
  run(run: TaskRun<ParamsOf<Schema>>): ResultOf<Output>
}

type AgentBase = {
  /** Unique id, and the prefix of its endpoints' ids: `<agentId>.<name>`. */
  readonly id: string
  /** Name shown to users. */
  readonly name: string
  /** Description shown to users. */
  readonly description?: string
  /** Users who may see and run the agent: everyone (the default), or the users with these email addresses. */
  readonly visibility?: 'public' | readonly string[]
}

/** An agent whose endpoints and chat are functions in the configuration file. */
export type CodeAgentConfig = AgentBase & {
  /** Runs functions defined in this configuration file. */
  readonly kind: 'code'
  /**
   * Maximum number of tokens that users' connectors may add to all prompts of a reply; 500,000 by default. Each byte
   * counts as one token. Users pay for these tokens as part of the prompts.
   */
  readonly connectorTokensMax?: number
  /** Operations that run as tasks, by name. */
  // Each endpoint in the record has its own params type, which `defineEndpoint` checks.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly endpoints?: { readonly [name: string]: EndpointConfig<any, any> | ReplyEndpointConfig<any> }
  /** Chat settings. Without them the agent has endpoints only. */
  readonly chat?: ChatConfig
}

type ModelEndpointFields<Schema extends ParamsSchema> = Omit<
  EndpointFields<Schema, undefined>,
  'run' | 'output' | 'priceUsd' | 'pricing'
> & {
  /** Price of one execution in USD, at most four decimals, for example `'0.0100'`. Set either this or `pricing`. */
  readonly priceUsd?: string
  /** Prices of the tokens that a task uses. Set either this or `priceUsd`. */
  readonly pricing?: TokenTaskPricing
} & ({ readonly priceUsd: string } | { readonly pricing: TokenTaskPricing })

/** An operation of a `model` agent. It builds a prompt from the params and returns the model's output. */
export type ModelEndpointConfig<Schema extends ParamsSchema = ParamsSchema> = ModelEndpointFields<Schema> & {
  /** Builds the prompt from the params. */
  prompt(params: ParamsOf<Schema>): string
  /** Schema of the model's output. If set, the output is the response. Otherwise the response is `{ text }`. */
  readonly output?: ParamsSchema
}

/** An operation of a `code` agent that runs a chat's `reply`, such as an adapter's. */
export type ReplyEndpointConfig<Schema extends ParamsSchema = ParamsSchema> = ModelEndpointFields<Schema> & {
  /** Builds the agent's input from the params: a message, or a conversation that ends with the user's message. */
  prompt(params: ParamsOf<Schema>): string | readonly ChatMessage[]
  /**
   * Generates the response instead of `run`, like a chat's `reply`. The task's id is also its `sessionId` and `turnId`.
   */
  reply(run: ChatRun): AsyncIterable<ChatPart>
  /**
   * Schema of the response. If set, the agent's text must be JSON that matches it. Otherwise the response is `{ text
   * }`, the text after the last tool call.
   */
  readonly output?: ParamsSchema
  /** Price that the model's provider charges. Users never see it. */
  readonly cost?: ChatCost
  /** Maximum number of tokens in the prompt; 128,000 by default. */
  readonly contextTokens?: number
  /** Maximum number of output tokens per model call; 4,096 by default. */
  readonly maxOutputTokens?: number
}

/**
 * An AI SDK language model object. `ModelObject` and `ModelTool` are structural types, because the SDK's own
 * declarations do not compile in projects that check libraries with `exactOptionalPropertyTypes`.
 */
export type ModelObject = {
  readonly specificationVersion: string
  readonly provider: string
  readonly modelId: string
  // oxlint-disable-next-line typescript/no-explicit-any
  doGenerate(options: any): PromiseLike<unknown>
  // oxlint-disable-next-line typescript/no-explicit-any
  doStream(options: any): PromiseLike<unknown>
}

/** An AI SDK tool. Wrapping it in `tool()` is optional. */
export type ModelTool = {
  readonly inputSchema: unknown
  readonly description?: unknown
  // oxlint-disable-next-line typescript/no-explicit-any
  execute?(input: any, options: { readonly toolCallId: string; readonly abortSignal?: AbortSignal }): unknown
}

/** A model that is called if the previous models fail. */
export type ModelFallback = {
  /** Any AI SDK language model object. */
  readonly model: ModelObject
  /**
   * Prices for chats and token-priced tasks that this model answers; the agent's or endpoint's `pricing` by default.
   */
  readonly pricing?: ChatPricing
  /** Price that this model's provider charges; the agent's `cost` by default. */
  readonly cost?: ChatCost
}

/** An agent backed by an AI SDK language model. */
export type ModelAgentConfig = AgentBase & {
  /** Calls an AI SDK language model. */
  readonly kind: 'model'
  /** Any AI SDK language model object, such as `openai('gpt-5-mini')`. */
  readonly model: ModelObject
  /**
   * Models to call, in order, if the previous ones fail; at most 4. The service calls the next model if a provider is
   * unreachable, responds with 408, 409, 429 or 5xx, or does not start a reply within 30 seconds. After the first part
   * of the reply, the service no longer switches. Users pay the price of the model that answers.
   */
  readonly fallbacks?: readonly ModelFallback[]
  /** Options for the model's provider, in the format of the AI SDK's `providerOptions`. */
  readonly providerOptions?: { readonly [provider: string]: { readonly [option: string]: unknown } }
  /**
   * Whether to mark instructions and history as cacheable; false by default. Anthropic, and Amazon Bedrock for
   * Anthropic models, cache only marked content. With Anthropic, `'1h'` sets the cache lifetime to one hour instead of
   * minutes. Caching requires rates for cache writes in `pricing` and, for these providers, in `cost`.
   */
  readonly caching?: boolean | '1h'
  /** System instructions, sent before each conversation or prompt. */
  readonly instructions?: string
  /** AI SDK tools with an `execute` function. */
  readonly tools?: { readonly [name: string]: ModelTool }
  /**
   * Maximum number of tokens that users' connectors may add to all prompts of a reply; 500,000 by default. Each byte
   * counts as one token. Users pay for these tokens as part of the prompts.
   */
  readonly connectorTokensMax?: number
  /**
   * Maximum number of model calls per reply or task; 8 by default. The model receives tool results between two calls.
   */
  readonly maxSteps?: number
  /**
   * Maximum number of output tokens per model call, and the largest `maxTokens` that a client may request; 4,096 by
   * default.
   */
  readonly maxOutputTokens?: number
  /**
   * Maximum number of tokens in the message and history sent to the model for a reply, or in an endpoint's prompt;
   * 128,000 by default.
   */
  readonly contextTokens?: number
  /** Whether reasoning is streamed; false by default. */
  readonly reasoning?: boolean
  /**
   * Whether the provider bills for reasoning that it does not stream; false by default. If true, the service keeps
   * reading the model call of a stopped reply for up to a minute, because only the provider knows its usage.
   */
  readonly hiddenReasoning?: boolean
  /**
   * Media types of the files that a message may contain, such as `['image/*', 'application/pdf', 'text/*']`; none by
   * default.
   */
  readonly accepts?: readonly string[]
  /**
   * Maximum number of tokens that the model counts for an image. Their cost is reserved before the model is called. By
   * default, one token per 16 by 16 pixels, at least 1,024 and at most 16,384.
   */
  readonly imageTokensMax?: number
  /**
   * Maximum number of tokens that the model counts for a file other than an image or text, such as a PDF. Their cost is
   * reserved before the model is called. If omitted, the cost of all remaining `contextTokens` is reserved, because
   * neither the size nor the page count of such a file bounds its token count.
   */
  readonly documentTokensMax?: number
  /** Chat prices. Without them the agent has endpoints only. */
  readonly pricing?: ChatPricing
  /** Price that the model's provider charges. Users never see it. */
  readonly cost?: ChatCost
  /** Operations that run as tasks, by name. */
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly endpoints?: { readonly [name: string]: ModelEndpointConfig<any> }
}

/** An agent whose model runs on a server with an OpenAI-compatible chat completions API. */
export type OpenAIAgentConfig = Omit<ModelAgentConfig, 'kind' | 'model'> & {
  /** Calls a server with OpenAI's chat completions API. */
  readonly kind: 'openai'
  /** Base URL of the API, which usually ends in `/v1`. */
  readonly baseUrl: string
  /** Model id. */
  readonly model: string
  /** API key, sent as a bearer token; none by default. */
  readonly apiKey?: string | undefined
  /** Whether the server accepts a JSON Schema as `response_format`; false by default. */
  readonly supportsStructuredOutputs?: boolean
}

/** An agent that is a separate service, written in any language. It receives signed requests. */
export type HttpAgentConfig = AgentBase & {
  /** Calls a separate service. */
  readonly kind: 'http'
  /** URL to which the service sends POST requests. */
  readonly url: string
  /** Secret for signing requests according to Standard Webhooks: `whsec_` followed by the base64 of 24 to 64 bytes. */
  readonly secret: string
  /** Operations that run as tasks, by name. */
  readonly endpoints?: {
    // oxlint-disable-next-line typescript/no-explicit-any
    readonly [name: string]: Omit<EndpointFields<any, any>, 'run' | 'connectorTokensMax'> & EndpointPrice
  }
  /** Chat settings. Without them the agent has endpoints only. */
  readonly chat?: Omit<ChatConfig, 'reply'>
}

export type AgentConfig = CodeAgentConfig | ModelAgentConfig | OpenAIAgentConfig | HttpAgentConfig

/** The default export of errand.config.ts. */
export type ErrandConfig = {
  /** Agents that users may run. */
  readonly agents: readonly AgentConfig[]
  /** MCP servers that users may connect to. */
  readonly connectors?: service.ConnectorsConfig
  /** Hosts with private IP addresses that webhooks may reach. */
  readonly webhooks?: service.WebhooksConfig
  /** Single sign-on to the console, in addition to email and password. */
  readonly login?: service.LoginConfig
  /** Service-wide limits, by name. */
  readonly limits?: service.LimitsConfig
  /** Days after which the contents of tasks and sessions are deleted. */
  readonly retention?: service.RetentionConfig
  /** Plans for users, by name. */
  readonly plans?: { readonly [name: string]: service.PlanConfig }
  /** Plan for users who have none, or whose plan is not in `plans`. */
  readonly defaultPlan?: string
}

/**
 * Infers `Given` from the argument, but checks the argument against `Declared`. A parameter of type `Given` would accept
 * unknown fields.
 */
export type Checked<Given, Declared> = [Given] extends [never] ? Given : Declared

/**
 * Checks the types of the configuration and returns it unchanged. The return type contains the ids and schemas of the
 * endpoints, for `createClient<typeof config>`.
 */
export function defineConfig<const Config extends ErrandConfig>(config: Checked<Config, ErrandConfig>): Config {
  return config as Config
}

/** Checks the types of an agent defined in its own file, and returns it unchanged. */
export function defineAgent<const Agent extends AgentConfig>(agent: Checked<Agent, AgentConfig>): Agent {
  return agent as Agent
}

/** Infers the types of `run`'s params and result from the schemas. Returns the endpoint unchanged. */
export function defineEndpoint<Schema extends ParamsSchema, Output extends ParamsSchema | undefined = undefined>(
  endpoint: EndpointConfig<Schema, Output>,
): EndpointConfig<Schema, Output> {
  return endpoint
}
