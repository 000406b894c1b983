import type { Connectors } from '../../connectors/tool-types.ts'
import type { ChatCost, ChatPricing } from './pricing-config.ts'

/** Writes a line to the service's log, with the run's ids attached. */
export type AgentLog = (message: string, fields?: Record<string, unknown>) => void

/** A part of a message. */
export type MessagePart =
  | { readonly type: 'text'; readonly text: string }
  | {
      readonly type: 'file'
      /** A media type that the chat accepts. The service has verified it against the bytes. */
      readonly mediaType: string
      readonly filename?: string
      readonly bytes: number
      /** Temporary download link that works without credentials. Meant for agents of kind http. */
      readonly url: string
      /** Absent for an agent of kind http, and for the oldest files if the history contains too many. */
      readonly data?: Uint8Array
    }

/**
 * An earlier message, with `parts` if it came with files. The role `system` comes only from clients of the
 * OpenAI-compatible API, before all other messages. The service passes it to a model after the agent's own instructions.
 */
export type ChatMessage = {
  readonly role: 'system' | 'user' | 'assistant'
  readonly content: string
  readonly parts?: readonly MessagePart[]
}

/** A model call that is about to start. */
export type ModelCallRequest = {
  /** Everything that is sent to the model, except tools: strings, or values that are counted as their JSON. */
  readonly prompt: readonly unknown[]
  /** Definitions of the tools that are sent to the model. */
  readonly tools?: readonly unknown[] | undefined
  /** Maximum tokens of the output. At most, and by default, the chat's `maxTokens`, or else the agent's `maxOutputTokens`. */
  readonly outputTokensMax?: number | undefined
}

/** Token counts of a model call, as its provider reported them. Those that are missing are counted. */
export type ModelCallUsage = {
  readonly [
    Count in
      | 'promptTokens'
      | 'completionTokens'
      | 'reasoningTokens'
      | 'cachedPromptTokens'
      | 'cacheWriteTokens'
      | 'cacheWrite1hTokens'
  ]?: number | undefined
} & { readonly finishReason?: 'stop' | 'length' | 'content_filter' | undefined }

/** A model call whose maximum cost is held. */
export type ModelCall = {
  /** Output limit to send to the model. Lower than requested if the balance or a cap covers no more. */
  readonly outputTokensMax: number
  /** Counts output as it arrives, in case the reply is stopped before the usage is known. */
  readonly wrote: (text: string, kind?: 'text' | 'reasoning') => void
  /**
   * Counts the arguments of a tool call, as JSON, and holds its price. Resolves when the tool may start. If it may not,
   * rejects, and the reply ends.
   */
  readonly callsTool: (json: string) => Promise<void>
  /** Ends the call and charges what it used. Only the first `end` or `fail` has an effect. */
  readonly end: (usage?: ModelCallUsage) => Promise<void>
  /** Ends a call that failed. It costs nothing. */
  readonly fail: () => void
}

/**
 * The argument of `reply`. `signal` aborts when the reply is no longer needed: the client disconnected, or time is up.
 */
export type ChatRun = {
  /** The message as a string. For a message in parts, its text parts joined by line breaks. */
  readonly message: string
  /** Text and files in the order they were sent. Present only if the message came with files. */
  readonly parts?: readonly MessagePart[]
  /** Earlier messages, oldest first: as many whole exchanges as fit into `contextTokens`. */
  readonly history: readonly ChatMessage[]
  readonly params: { readonly temperature?: number; readonly maxTokens?: number }
  readonly connectors: Connectors
  readonly userId: string
  readonly sessionId: string
  readonly turnId: string
  readonly signal: AbortSignal
  readonly log: AgentLog
  /**
   * Holds the maximum cost of a model call, and resolves when the call may start. If it may not, rejects, and the reply
   * ends. Calls can run in parallel. Once a reply has made a call this way, it costs what its calls used, and the text
   * that it yields costs nothing. Use either this for all model calls of a reply, or the parts `step` and `usage`.
   */
  readonly modelCall: (request: ModelCallRequest) => Promise<ModelCall>
  /**
   * W3C trace context of the turn. Send it in the `traceparent` header of outgoing calls, so that they join the turn's
   * trace. Undefined if tracing is off.
   */
  readonly traceparent?: string
}

/** A part of a reply. The service adds up all `usage` parts. If there are none, it counts tokens from the text. */
export type ChatPart =
  | { type: 'text'; delta: string }
  /** Reaches the client only if the chat has `reasoning: true`. */
  | { type: 'reasoning'; delta: string }
  | { type: 'tool-call'; id: string; name: string; arguments: Record<string, unknown> }
  /** An output that is not an object becomes `{ result: output }`. */
  | { type: 'tool-result'; id: string; output: unknown }
  /**
   * `completionTokens` includes `reasoningTokens`. `promptTokens` includes `cachedPromptTokens` and `cacheWriteTokens`,
   * which includes `cacheWrite1hTokens`. If the price has `longContext`, report each model call in a separate part.
   */
  | {
      type: 'usage'
      promptTokens: number
      completionTokens: number
      reasoningTokens?: number
      /** Prompt tokens read from the provider's cache. */
      cachedPromptTokens?: number
      /** Prompt tokens written to the provider's cache. */
      cacheWriteTokens?: number
      /** Prompt tokens written to the provider's cache for an hour. */
      cacheWrite1hTokens?: number
      /** Whether the agent counted the tokens from the text, because the provider did not report them. */
      isEstimated?: boolean
      /**
       * Why the model stopped: `length` if its output was cut off. The last reason becomes the finish reason of the
       * reply.
       */
      finishReason?: 'stop' | 'length' | 'content_filter'
    }
  /**
   * Announces a model call with at most `promptTokens` of prompt and at most `outputTokensMax` of output. The default
   * of `outputTokensMax` is the chat's `maxTokens`, or else the agent's `maxOutputTokens`. The service holds the
   * maximum cost of the call before it requests the next part, so call the model after yielding this part. If the reply
   * is stopped before the next `usage` part, the user pays for `promptTokens` and for the text since this part.
   */
  | { type: 'step'; promptTokens: number; outputTokensMax?: number }

/** Chat settings of an agent. */
export type ChatConfig = {
  /** Price of a turn. */
  readonly pricing: ChatPricing
  /** Price that the model's provider charges for the same usage. Users never see it. */
  readonly cost?: ChatCost
  /** Maximum tokens of message and history passed to a reply; 128,000 by default. */
  readonly contextTokens?: number
  /** The largest `maxTokens` that a client may request; 4,096 by default. */
  readonly maxOutputTokens?: number
  /** Whether reasoning is streamed; false by default. */
  readonly reasoning?: boolean
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
  /** Yields the reply, part by part. */
  reply(run: ChatRun): AsyncIterable<ChatPart>
}
