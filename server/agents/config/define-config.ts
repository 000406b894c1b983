import type { z } from 'zod'
import type { ConnectorsConfig, LimitsConfig, LoginConfig, PlanConfig, WebhooksConfig } from './service-config.ts'

export type * from './service-config.ts'

/** JSON Schema (draft 2020-12 or 7) of an object, as an alternative to a Zod schema. */
export type JsonSchema = { readonly [key: string]: unknown }

/** What validates an endpoint's `params`: a Zod 4 schema or a JSON Schema, either of an object. */
export type ParamsSchema = z.ZodType | JsonSchema

/** The values that a run gets for its params: what the Zod schema puts out, or a plain object for a JSON Schema. */
export type ParamsOf<Schema> = Schema extends z.ZodType ? z.output<Schema> : Record<string, unknown>

/** Writes a line to the service's log, with the run's ids attached. */
export type AgentLog = (message: string, fields?: Record<string, unknown>) => void

/** What a tool of a connector answered, as the Model Context Protocol has it. */
export type ToolAnswer = {
  readonly content: readonly { readonly type: string; readonly [key: string]: unknown }[]
  readonly structuredContent?: unknown
  /** The tool itself failed, and `content` says how. */
  readonly isError: boolean
  /** The texts of `content`, joined by line breaks. */
  readonly text: string
}

/** A tool of a service that the user connected. */
export type ConnectorTool = {
  /**
   * Unique among the tools of the run: the server's own name, with `_` for characters that models' providers refuse, after
   * the connector's where it would be ambiguous.
   */
  readonly name: string
  readonly connectorId: string
  /** As the user called the connector. */
  readonly connectorName: string
  readonly description: string
  /** JSON Schema of the arguments. */
  readonly inputSchema: JsonSchema
}

/** The services that the user made available to a run. Empty when there are none. */
export type Connectors = {
  readonly tools: readonly ConnectorTool[]
  /**
   * Calls a tool by its `name`. Rejects when the server gives no answer. In a chat the call and its answer become
   * events of the stream, and the call is charged; an agent does not yield them itself.
   */
  call(name: string, args?: Record<string, unknown>): Promise<ToolAnswer>
}

/** How far a run has come: at most 4,096 bytes of JSON. */
export type TaskProgress = {
  /** From 0 to 1. */
  readonly fraction?: number | undefined
  readonly message?: string | undefined
  /** Any JSON. */
  readonly data?: unknown
}

/** What a task's run is given. `signal` fires at the endpoint's timeout and when the service stops the run. */
export type TaskRun<Params = Record<string, unknown>> = {
  readonly params: Params
  readonly connectors: Connectors
  readonly userId: string
  readonly taskId: string
  readonly signal: AbortSignal
  readonly log: AgentLog
  /**
   * Tells those who follow the task how far it has come; call it as often as you like, the latest counts. Throws for what is
   * no progress, and does nothing once the run has ended.
   */
  readonly progress: (progress: TaskProgress) => void
  /**
   * Charges events of the endpoint's `pricing`, one when no count is given, and returns how many of them were within the most
   * that the task may cost: do the work for those. Throws for an event without a price, and once the run has ended.
   */
  readonly charge: (event: string, count?: number) => number
  /** For the header of that name in what the run calls, so that it joins the run's trace; undefined without tracing. */
  readonly traceparent?: string
}

/** Prices of what a run does, for an endpoint whose tasks differ in their work. */
export type EventPricing = {
  /** Price of one of each event in USD, by the names that `charge` is given; at most 32. */
  readonly events: { readonly [event: string]: string }
  /** The most that a task costs: charged when it is created, and what it did not use is given back when it completes. */
  readonly maxUsd: string
}

/** Either of both. */
type EndpointPrice = { readonly priceUsd: string } | { readonly pricing: EventPricing }

/** One operation of an agent that clients run as tasks; its id on the wire is `<agentId>.<name>`. */
export type EndpointConfig<Schema extends ParamsSchema = ParamsSchema> = EndpointFields<Schema> & EndpointPrice

type EndpointFields<Schema extends ParamsSchema> = {
  /** What it does, for users and for the reference of the API. */
  readonly description: string
  /** Price of one execution in USD, at most four decimals, for example `'0.0100'`; this or `pricing`. */
  readonly priceUsd?: string
  /** Prices of what a run charges, up to a most, instead of `priceUsd`; of agents of kind code and http. */
  readonly pricing?: EventPricing
  /** What callers must send as `params`. */
  readonly params: Schema
  /** Seconds from the start of processing until the task fails with AGENT_TIMEOUT; 300 by default. */
  readonly timeoutSeconds?: number
  /**
   * Whether users may cancel a task while the agent is at work on it (`'always'`, the default), or only before
   * (`'pending'`). They are refunded in full.
   */
  readonly cancel?: 'always' | 'pending'
  /** How often an execution that the service interrupted is run again; 0 by default. Failures are never retried. */
  readonly retries?: number
  /**
   * Tokens that users' connectors may add to all prompts of a run, a byte counted as one: by the descriptions of their
   * tools and by what these answer, which a model is sent again with each of its calls; 100,000 by default. A model that
   * has had them calls no more tools. With 0 the endpoint takes no connectors.
   */
  readonly connectorTokensMax?: number
  /** An object or a string is the task's response as it is; any other value becomes `{ result: value }`. */
  run(run: TaskRun<ParamsOf<Schema>>): unknown
}

/** What a chat costs, in USD as decimals of at most six digits. */
export type ChatPricing = {
  /** For a thousand tokens of prompts. */
  readonly inputPer1kUsd: string
  /** For a thousand tokens that the model writes. */
  readonly outputPer1kUsd: string
  /** For each tool call; free by default. */
  readonly toolCallUsd?: string
  /** For input tokens that the provider had cached; the input rate by default. */
  readonly cachedInputPer1kUsd?: string
  /** For reasoning tokens, which are then not charged as output; the output rate by default. */
  readonly reasoningPer1kUsd?: string
}

/** A part of a message. */
export type MessagePart =
  | { readonly type: 'text'; readonly text: string }
  | {
      readonly type: 'file'
      /** One that the chat accepts; the bytes were checked to be that. */
      readonly mediaType: string
      readonly filename?: string
      readonly bytes: number
      /** Downloads it for some time, for whoever has it: for an agent of kind http. */
      readonly url: string
      /** Absent for an agent of kind http, and of old files of a history that has too many. */
      readonly data?: Uint8Array
    }

/**
 * One message so far; `parts` where it came with files. The role `system` comes only from clients that speak OpenAI's protocol,
 * before all others; the service hands it to a model after the agent's own instructions.
 */
export type ChatMessage = {
  readonly role: 'system' | 'user' | 'assistant'
  readonly content: string
  readonly parts?: readonly MessagePart[]
}

/** What a chat's reply is given. `signal` fires when the reply is no longer wanted: the client left, or time is up. */
export type ChatRun = {
  /** Its text; of a message in parts the texts, joined by line breaks. */
  readonly message: string
  /** Of a message that came with files: these and its texts, in the order in which they were sent. */
  readonly parts?: readonly MessagePart[]
  /** Earlier messages, oldest first, in whole exchanges, as many as fit into `contextTokens`. */
  readonly history: readonly ChatMessage[]
  readonly params: { readonly temperature?: number; readonly maxTokens?: number }
  readonly connectors: Connectors
  readonly userId: string
  readonly sessionId: string
  readonly turnId: string
  readonly signal: AbortSignal
  readonly log: AgentLog
  /** For the header of that name in what the reply calls, so that it joins the turn's trace; undefined without tracing. */
  readonly traceparent?: string
}

/** What a reply is made of. `usage` may come several times and adds up; without it tokens are counted from the texts. */
export type ChatPart =
  | { type: 'text'; delta: string }
  /** Reaches the client only when the chat has `reasoning: true`. */
  | { type: 'reasoning'; delta: string }
  | { type: 'tool-call'; id: string; name: string; arguments: Record<string, unknown> }
  /** An output that is no object becomes `{ result: output }`. */
  | { type: 'tool-result'; id: string; output: unknown }
  /** `completionTokens` includes `reasoningTokens`, `promptTokens` includes `cachedPromptTokens`. */
  | {
      type: 'usage'
      promptTokens: number
      completionTokens: number
      reasoningTokens?: number
      cachedPromptTokens?: number
      /** Whether this is counted from the texts, because the provider reports nothing. */
      isEstimated?: boolean
      /** Why the model ended: `length` if it was cut off. The last one is that of the reply. */
      finishReason?: 'stop' | 'length' | 'content_filter'
    }
  /**
   * A call of a model is about to begin, whose prompt has at most so many tokens, and whose text at most `outputTokensMax`
   * (by default the chat's `maxTokens`, or the agent's `maxOutputTokens`). The reply goes on, and may call the model, when
   * the balance holds it. If the reply is stopped before the next `usage`, that prompt and the text since are charged.
   */
  | { type: 'step'; promptTokens: number; outputTokensMax?: number }

/** How an agent converses in sessions. */
export type ChatConfig = {
  /** What a reply costs. */
  readonly pricing: ChatPricing
  /** Tokens of message and history that a reply is given at most; 128,000 by default. */
  readonly contextTokens?: number
  /** The largest `maxTokens` that a client may ask for; 4,096 by default. */
  readonly maxOutputTokens?: number
  /** Whether reasoning is streamed; false by default. */
  readonly reasoning?: boolean
  /**
   * Media types of the files that a message may have, such as `['image/*', 'application/pdf', 'text/*']`; none by default.
   */
  readonly accepts?: readonly string[]
  /**
   * Tokens that the model counts an image as, at most: they are held before it is called. By default one for each 16 by 16
   * pixels, 1,024 at least and 16,384 at most.
   */
  readonly imageTokensMax?: number
  /**
   * Maximum tokens of a file that is neither image nor text, such as a PDF: held before the model is called. Without it such
   * files hold the rest of `contextTokens`, since neither their bytes nor their pages bound what a model makes of them.
   */
  readonly documentTokensMax?: number
  /** Makes the reply, part by part. */
  reply(run: ChatRun): AsyncIterable<ChatPart>
}

type AgentBase = {
  /** Part of its endpoints' ids, `<agentId>.<name>`. */
  readonly id: string
  /** As users read it. */
  readonly name: string
  /** What it is for, as users read it. */
  readonly description?: string
  /** Who may see and run the agent: everyone (the default), or the users with these email addresses. */
  readonly visibility?: 'public' | readonly string[]
}

/** An agent whose endpoints and chat are functions of the configuration file. */
export type CodeAgentConfig = AgentBase & {
  /** Functions of this file. */
  readonly kind: 'code'
  /**
   * Tokens that users' connectors may add to all prompts of a reply, a byte counted as one; 500,000 by default. What they
   * add is part of the prompts that users pay for.
   */
  readonly connectorTokensMax?: number
  /** Its operations that are run as tasks, by name. */
  // Endpoints of one record differ in their params; `defineEndpoint` gives each its own types.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly endpoints?: { readonly [name: string]: EndpointConfig<any> }
  /** How it converses in sessions; without it, only its endpoints can be run. */
  readonly chat?: ChatConfig
}

type ModelEndpointFields<Schema extends ParamsSchema> = Omit<EndpointFields<Schema>, 'run' | 'priceUsd' | 'pricing'> & {
  readonly priceUsd: string
}

/** One operation of a `model` agent: a prompt made of the params, and what the model makes of it. */
export type ModelEndpointConfig<Schema extends ParamsSchema = ParamsSchema> = ModelEndpointFields<Schema> & {
  /** Makes the prompt of the params. */
  prompt(params: ParamsOf<Schema>): string
  /** What the model's output must fit; the response is then that object. Without it the response is `{ text }`. */
  readonly output?: ParamsSchema
}

/**
 * A language model object of the AI SDK. Said by its shape, as the tools below are, since the SDK's own declarations
 * compile in no project that checks libraries under `exactOptionalPropertyTypes`.
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

/** A tool of the AI SDK, with or without its `tool()` around it. */
export type ModelTool = {
  readonly inputSchema: unknown
  readonly description?: unknown
  // oxlint-disable-next-line typescript/no-explicit-any
  execute?(input: any, options: { readonly toolCallId: string; readonly abortSignal?: AbortSignal }): unknown
}

/** An agent that a language model of the AI SDK is. */
export type ModelAgentConfig = AgentBase & {
  /** A language model of the AI SDK. */
  readonly kind: 'model'
  /** Any language model object of the AI SDK, such as `openai('gpt-5-mini')`. */
  readonly model: ModelObject
  /** What the model is told before each conversation or prompt. */
  readonly instructions?: string
  /** Tools of the AI SDK with their `execute`. */
  readonly tools?: { readonly [name: string]: ModelTool }
  /**
   * Tokens that users' connectors may add to all prompts of a reply, a byte counted as one; 500,000 by default. What they
   * add is part of the prompts that users pay for.
   */
  readonly connectorTokensMax?: number
  /** Calls of the model in one reply or task, with the tools' results between them; 8 by default. */
  readonly maxSteps?: number
  /** Of one call of the model, and the largest `maxTokens` of a chat; 4,096 by default. */
  readonly maxOutputTokens?: number
  /** Tokens of message and history that a reply is given at most, and of an endpoint's prompt; 128,000 by default. */
  readonly contextTokens?: number
  /** Whether reasoning is streamed; false by default. */
  readonly reasoning?: boolean
  /**
   * Whether the provider bills reasoning that it does not stream; false by default. A call is then read to its end when its
   * reply is stopped, for up to a minute, because nobody else can tell what it used.
   */
  readonly hiddenReasoning?: boolean
  /**
   * Media types of the files that a message may have, such as `['image/*', 'application/pdf', 'text/*']`; none by default.
   */
  readonly accepts?: readonly string[]
  /**
   * Tokens that the model counts an image as, at most: they are held before it is called. By default one for each 16 by 16
   * pixels, 1,024 at least and 16,384 at most.
   */
  readonly imageTokensMax?: number
  /**
   * Maximum tokens of a file that is neither image nor text, such as a PDF: held before the model is called. Without it such
   * files hold the rest of `contextTokens`, since neither their bytes nor their pages bound what a model makes of them.
   */
  readonly documentTokensMax?: number
  /** The agent converses in sessions at this price; without it, only its endpoints can be run. */
  readonly pricing?: ChatPricing
  /** Its operations that are run as tasks, by name. */
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly endpoints?: { readonly [name: string]: ModelEndpointConfig<any> }
}

/** An agent that runs as a service of its own, in any language; it is sent signed requests. */
export type HttpAgentConfig = AgentBase & {
  /** A service of its own. */
  readonly kind: 'http'
  /** Where requests are posted to. */
  readonly url: string
  /** Signs the requests as Standard Webhooks are: `whsec_` and base64 of 24 to 64 bytes. */
  readonly secret: string
  /** Its operations that are run as tasks, by name. */
  readonly endpoints?: {
    // oxlint-disable-next-line typescript/no-explicit-any
    readonly [name: string]: Omit<EndpointFields<any>, 'run' | 'connectorTokensMax'> & EndpointPrice
  }
  /** How it converses in sessions; without it, only its endpoints can be run. */
  readonly chat?: Omit<ChatConfig, 'reply'>
}

export type AgentConfig = CodeAgentConfig | ModelAgentConfig | HttpAgentConfig

/** What errand.config.ts exports as its default. */
export type ErrandConfig = {
  /** What users may run. */
  readonly agents: readonly AgentConfig[]
  /** What users may connect. */
  readonly connectors?: ConnectorsConfig
  /** Where users may have events sent. */
  readonly webhooks?: WebhooksConfig
  /** How people log in to the console, beside email address and password. */
  readonly login?: LoginConfig
  /** See the limits above. */
  readonly limits?: LimitsConfig
  /** What users may do, by the names of the plans that they are given. */
  readonly plans?: { readonly [name: string]: PlanConfig }
  /** The plan of users who are given none, or one that is not among `plans`. */
  readonly defaultPlan?: string
}

/** Gives the configuration its types; at run time it returns its argument. */
export function defineConfig(config: ErrandConfig): ErrandConfig {
  return config
}

/** Gives one endpoint's `run` the types of its own params schema; at run time it returns its argument. */
export function defineEndpoint<Schema extends ParamsSchema>(endpoint: EndpointConfig<Schema>): EndpointConfig<Schema> {
  return endpoint
}
