import type { z } from 'zod'
import type { AgentLog, ChatConfig } from './chat-config.ts'
import type { ChatCost, ChatPricing, EventPricing, TokenTaskPricing } from './pricing-config.ts'
import type * as service from './service-config.ts'
import type { Connectors, JsonSchema } from '../../connectors/tool-types.ts'
export type * from './chat-config.ts'
export * from './pricing-config.ts'
export type * from './service-config.ts'
export type { Connectors, ConnectorTool, JsonSchema, ToolAnswer } from '../../connectors/tool-types.ts'

/** A Zod 4 schema or a JSON Schema that validates an endpoint's `params`. Both must describe an object. */
export type ParamsSchema = z.ZodType | JsonSchema

/** The type of a run's params: the output of the Zod schema, or a plain object for a JSON Schema. */
export type ParamsOf<Schema> = Schema extends z.ZodType ? z.output<Schema> : Record<string, unknown>

/** Progress of a run: at most 4,096 bytes of JSON. */
export type TaskProgress = {
  /** From 0 to 1. */
  readonly fraction?: number | undefined
  readonly message?: string | undefined
  /** Any JSON value. */
  readonly data?: unknown
}

/** The argument of an endpoint's `run`. `signal` aborts at the endpoint's timeout and when the service stops the run. */
export type TaskRun<Params = Record<string, unknown>> = {
  readonly params: Params
  readonly connectors: Connectors
  readonly userId: string
  readonly taskId: string
  readonly signal: AbortSignal
  readonly log: AgentLog
  /**
   * Reports the task's progress to its followers. Call it as often as you like: only the latest value counts. Throws if the
   * value is invalid, and does nothing once the run has ended.
   */
  readonly progress: (progress: TaskProgress) => void
  /**
   * Charges `count` events, 1 by default, at the price in the endpoint's `pricing`. Returns the number of events that
   * fit into the task's maximum price and were charged. Do the work only for this number. Throws if the event has no
   * price or the run has ended.
   */
  readonly charge: (event: string, count?: number) => number
  /**
   * W3C trace context of the run. Send it in the `traceparent` header of outgoing calls, so that they join the run's
   * trace. Undefined if tracing is off.
   */
  readonly traceparent?: string
}

type EndpointPrice = { readonly priceUsd: string } | { readonly pricing: EventPricing }

/** One operation of an agent, which clients run as tasks. Its id in the API is `<agentId>.<name>`. */
export type EndpointConfig<Schema extends ParamsSchema = ParamsSchema> = EndpointFields<Schema> & EndpointPrice

type EndpointFields<Schema extends ParamsSchema> = {
  /** Describes the endpoint to users and in the API reference. */
  readonly description: string
  /** Price of one execution in USD, at most four decimals, for example `'0.0100'`. Set either this or `pricing`. */
  readonly priceUsd?: string
  /**
   * Prices of the events that a run charges, and the maximum price of a task. Set either this or `priceUsd`. Endpoints of
   * model agents charge tokens instead: `pricing: { tokens, maxUsd }`.
   */
  readonly pricing?: EventPricing
  /** Schema of the `params` that callers must send. */
  readonly params: Schema
  /** Seconds from the start of processing until the task fails with AGENT_TIMEOUT; 300 by default. */
  readonly timeoutSeconds?: number
  /**
   * When users may cancel a task: always (`'always'`, the default), or only before the agent starts it (`'pending'`). A
   * canceled task is refunded in full.
   */
  readonly cancel?: 'always' | 'pending'
  /** How often to retry an execution that the service interrupted; 0 by default. Failures are never retried. */
  readonly retries?: number
  /**
   * Maximum tokens that users' connectors may add to all prompts of a run; 100,000 by default. Each byte counts as one
   * token. Both tool descriptions and tool answers count. For an agent of kind model they count again with each model
   * call, because each call sends them again. Once a model has used the maximum, it can call no more tools. If 0, the
   * endpoint accepts no connectors.
   */
  readonly connectorTokensMax?: number
  /** Runs the task. The response is the returned object or string; any other value becomes `{ result: value }`. */
  run(run: TaskRun<ParamsOf<Schema>>): unknown
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
  /** Runs functions of this file. */
  readonly kind: 'code'
  /**
   * Maximum tokens that users' connectors may add to all prompts of a reply; 500,000 by default. Each byte counts as
   * one token. Users pay for these tokens as part of the prompts.
   */
  readonly connectorTokensMax?: number
  /** Operations that run as tasks, by name. */
  // Endpoints of one record differ in their params; `defineEndpoint` gives each its own types.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly endpoints?: { readonly [name: string]: EndpointConfig<any> }
  /** Chat settings. Without them the agent has endpoints only. */
  readonly chat?: ChatConfig
}

type ModelEndpointFields<Schema extends ParamsSchema> = Omit<EndpointFields<Schema>, 'run' | 'priceUsd' | 'pricing'> & {
  /** Price of one execution in USD, at most four decimals, for example `'0.0100'`. Set either this or `pricing`. */
  readonly priceUsd?: string
  /** Prices of the tokens that a task uses. Set either this or `priceUsd`. */
  readonly pricing?: TokenTaskPricing
} & ({ readonly priceUsd: string } | { readonly pricing: TokenTaskPricing })

/** One operation of a `model` agent: builds a prompt from the params and returns the model's answer. */
export type ModelEndpointConfig<Schema extends ParamsSchema = ParamsSchema> = ModelEndpointFields<Schema> & {
  /** Builds the prompt from the params. */
  prompt(params: ParamsOf<Schema>): string
  /** Schema of the model's output. If set, the output becomes the response; otherwise the response is `{ text }`. */
  readonly output?: ParamsSchema
}

/**
 * A language model object of the AI SDK. This type and the tool type below are structural, because the SDK's own
 * declarations fail to compile in some projects: those that check libraries under `exactOptionalPropertyTypes`.
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

/** A tool of the AI SDK, with or without `tool()` around it. */
export type ModelTool = {
  readonly inputSchema: unknown
  readonly description?: unknown
  // oxlint-disable-next-line typescript/no-explicit-any
  execute?(input: any, options: { readonly toolCallId: string; readonly abortSignal?: AbortSignal }): unknown
}

/** A model that answers if the models before it cannot. */
export type ModelFallback = {
  /** Any language model object of the AI SDK. */
  readonly model: ModelObject
  /** Prices of chats and token-priced tasks that this model answers; the agent's or endpoint's by default. */
  readonly pricing?: ChatPricing
  /** Price that this model's provider charges; the agent's by default. */
  readonly cost?: ChatCost
}

/** An agent backed by a language model of the AI SDK. */
export type ModelAgentConfig = AgentBase & {
  /** Calls a language model of the AI SDK. */
  readonly kind: 'model'
  /** Any language model object of the AI SDK, such as `openai('gpt-5-mini')`. */
  readonly model: ModelObject
  /**
   * Models that answer if those before them cannot; at most 4. The next model is called if a provider cannot be reached,
   * answers with 408, 409, 429 or 5xx, or does not start a reply within 30 seconds, and only before the first part
   * of the reply. Users pay the price of the model that answers.
   */
  readonly fallbacks?: readonly ModelFallback[]
  /** Options for the model's provider, as the AI SDK's `providerOptions`. */
  readonly providerOptions?: { readonly [provider: string]: { readonly [option: string]: unknown } }
  /**
   * Whether to mark instructions and history as cacheable. Some providers cache only marked content: Anthropic, and
   * Amazon Bedrock for Anthropic's models. `'1h'` asks Anthropic to cache for an hour instead of minutes. If set, chats
   * need a price for cache writes; false by default.
   */
  readonly caching?: boolean | '1h'
  /** System instructions, sent before each conversation or prompt. */
  readonly instructions?: string
  /** Tools of the AI SDK with their `execute`. */
  readonly tools?: { readonly [name: string]: ModelTool }
  /**
   * Maximum tokens that users' connectors may add to all prompts of a reply; 500,000 by default. Each byte counts as
   * one token. Users pay for these tokens as part of the prompts.
   */
  readonly connectorTokensMax?: number
  /** Maximum model calls in one reply or task, with tool results in between; 8 by default. */
  readonly maxSteps?: number
  /** Maximum output tokens of one model call, and the largest `maxTokens` of a turn; 4,096 by default. */
  readonly maxOutputTokens?: number
  /** Maximum tokens of message and history passed to a reply, and of an endpoint's prompt; 128,000 by default. */
  readonly contextTokens?: number
  /** Whether reasoning is streamed; false by default. */
  readonly reasoning?: boolean
  /**
   * Whether the provider bills reasoning that it does not stream; false by default. If true, the service continues to
   * read the model call of a stopped reply for up to a minute, because only the provider knows its usage.
   */
  readonly hiddenReasoning?: boolean
  /**
   * Media types of the files that a message may contain, such as `['image/*', 'application/pdf', 'text/*']`; none by
   * default.
   */
  readonly accepts?: readonly string[]
  /**
   * Maximum tokens that the model counts for an image. Their cost is held before the model is called. By default one
   * token per 16 by 16 pixels, at least 1,024 and at most 16,384.
   */
  readonly imageTokensMax?: number
  /**
   * Maximum tokens that the model counts for a file other than an image or text, such as a PDF. Their cost is held
   * before the model is called. If omitted, the cost of all remaining `contextTokens` is held: neither the size nor the
   * page count of such a file limits its tokens.
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

/** An agent backed by a model of any server that has OpenAI's chat completions API. */
export type OpenAIAgentConfig = Omit<ModelAgentConfig, 'kind' | 'model'> & {
  /** Calls a server with OpenAI's chat completions API. */
  readonly kind: 'openai'
  /** Base URL of the API, which usually ends in `/v1`. */
  readonly baseUrl: string
  /** Id of the model. */
  readonly model: string
  /** Sent as a bearer token; none by default. */
  readonly apiKey?: string | undefined
  /** Whether the server accepts a JSON Schema as `response_format`; false by default. */
  readonly supportsStructuredOutputs?: boolean
}

/** An agent that runs as a separate service, in any language. It receives signed requests. */
export type HttpAgentConfig = AgentBase & {
  /** Calls a separate service. */
  readonly kind: 'http'
  /** URL that requests are posted to. */
  readonly url: string
  /** Signs requests according to Standard Webhooks: `whsec_` and base64 of 24 to 64 bytes. */
  readonly secret: string
  /** Operations that run as tasks, by name. */
  readonly endpoints?: {
    // oxlint-disable-next-line typescript/no-explicit-any
    readonly [name: string]: Omit<EndpointFields<any>, 'run' | 'connectorTokensMax'> & EndpointPrice
  }
  /** Chat settings. Without them the agent has endpoints only. */
  readonly chat?: Omit<ChatConfig, 'reply'>
}

export type AgentConfig = CodeAgentConfig | ModelAgentConfig | OpenAIAgentConfig | HttpAgentConfig

/** The default export of errand.config.ts. */
export type ErrandConfig = {
  /** Agents that users may run. */
  readonly agents: readonly AgentConfig[]
  /** Services that users may connect. */
  readonly connectors?: service.ConnectorsConfig
  /** Destinations that webhooks may reach. */
  readonly webhooks?: service.WebhooksConfig
  /** Single sign-on to the console, in addition to email and password. */
  readonly login?: service.LoginConfig
  /** Limits of the service, by name. */
  readonly limits?: service.LimitsConfig
  /** Ages at which the contents of tasks and sessions are deleted. */
  readonly retention?: service.RetentionConfig
  /** Plans for users, by name. */
  readonly plans?: { readonly [name: string]: service.PlanConfig }
  /** Plan of the users who have no plan, or whose plan is not in `plans`. */
  readonly defaultPlan?: string
}

/** Types the configuration. At run time it returns its argument. */
export function defineConfig(config: ErrandConfig): ErrandConfig {
  return config
}

/** Types one endpoint's `run` by its params schema. At run time it returns its argument. */
export function defineEndpoint<Schema extends ParamsSchema>(endpoint: EndpointConfig<Schema>): EndpointConfig<Schema> {
  return endpoint
}
