import type { Connectors } from '../../connectors/tool-types.ts'
import type { ChatCost, ChatPricing } from './pricing-config.ts'

/** Writes a line to the service's log. The ids of the run are added automatically. */
export type AgentLog = (message: string, fields?: Record<string, unknown>) => void

/** A part of a message: text or a file. */
export type MessagePart =
  | { readonly type: 'text'; readonly text: string }
  | {
      readonly type: 'file'
      /** Media type accepted by the chat. The service has checked that it matches the file's content. */
      readonly mediaType: string
      readonly filename?: string
      readonly bytes: number
      /** Temporary download URL that needs no credentials. Meant for `http` agents. */
      readonly url: string
      /** Content of the file. Absent for `http` agents, and for the oldest files if the history contains too many. */
      readonly data?: Uint8Array
    }

/**
 * An earlier message, with `parts` if it included files. Messages with the role `system` come only from clients of the
 * OpenAI-compatible API and precede all others. The service sends them to the model after the agent's own instructions.
 */
export type ChatMessage = {
  readonly role: 'system' | 'user' | 'assistant'
  readonly content: string
  readonly parts?: readonly MessagePart[]
}

/** A model call that is about to start. */
export type ModelCallRequest = {
  /** Everything sent to the model except tools: strings, or values counted as JSON. */
  readonly prompt: readonly unknown[]
  /** Definitions of the tools sent to the model. */
  readonly tools?: readonly unknown[] | undefined
  /**
   * Maximum number of output tokens. The chat's `maxTokens`, or else the agent's `maxOutputTokens`, is both the default
   * and the upper limit.
   */
  readonly outputTokensMax?: number | undefined
}

/** Token counts of a model call, as reported by the provider. The service counts missing values itself. */
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

/** A model call whose maximum cost is reserved. */
export type ModelCall = {
  /** Output limit to send to the model. Lower than requested if the balance or a cap covers less. */
  readonly outputTokensMax: number
  /**
   * Counts output as it arrives. The service charges this count if the reply is stopped before the provider reports the
   * usage.
   */
  readonly wrote: (text: string, kind?: 'text' | 'reasoning') => void
  /**
   * Counts the arguments of a tool call, given as JSON, and reserves its price. Resolves when the tool may start.
   * Otherwise rejects, and the reply ends.
   */
  readonly callsTool: (json: string) => Promise<void>
  /** Ends the call and charges its usage. Calls after the first `end` or `fail` have no effect. */
  readonly end: (usage?: ModelCallUsage) => Promise<void>
  /** Ends a failed call without a charge. */
  readonly fail: () => void
}

/** The argument of `reply`. `signal` aborts when the client disconnects or the time limit is reached. */
export type ChatRun = {
  /** The message as a string. If the message has parts, its text parts joined by line breaks. */
  readonly message: string
  /** Text and file parts in their original order. Present only if the message includes files. */
  readonly parts?: readonly MessagePart[]
  /** Earlier messages, oldest first: as many complete exchanges as fit into `contextTokens`. */
  readonly history: readonly ChatMessage[]
  readonly params: { readonly temperature?: number; readonly maxTokens?: number }
  readonly connectors: Connectors
  readonly userId: string
  readonly sessionId: string
  readonly turnId: string
  readonly signal: AbortSignal
  readonly log: AgentLog
  /**
   * Reserves the maximum cost of a model call. Resolves when the call may start. Otherwise rejects, and the reply ends.
   * Calls may run in parallel. After the first call, the reply costs only the usage of its calls, and the text it
   * yields is free. For all model calls in a reply, use either this method or the `step` and `usage` parts.
   */
  readonly modelCall: (request: ModelCallRequest) => Promise<ModelCall>
  /**
   * W3C trace context of the turn. Send it in the `traceparent` header of outgoing requests to make them part of the
   * turn's trace. Undefined if tracing is off.
   */
  readonly traceparent?: string
}

/** A part of a reply. The service sums all `usage` parts. If there are none, it counts the tokens of the text. */
export type ChatPart =
  | { type: 'text'; delta: string }
  /** Sent to the client only if the chat has `reasoning: true`. */
  | { type: 'reasoning'; delta: string }
  | { type: 'tool-call'; id: string; name: string; arguments: Record<string, unknown> }
  /** An `output` that is not an object becomes `{ result: output }`. */
  | { type: 'tool-result'; id: string; output: unknown }
  /**
   * `promptTokens` includes `cachedPromptTokens` and `cacheWriteTokens`. `cacheWriteTokens` includes
   * `cacheWrite1hTokens`, and `completionTokens` includes `reasoningTokens`. If the pricing has `longContext`, report
   * each model call in its own part.
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
      /** Prompt tokens written to the provider's cache with a lifetime of one hour. */
      cacheWrite1hTokens?: number
      /** Whether the agent estimated the tokens from the text because the provider reported none. */
      isEstimated?: boolean
      /**
       * Why the model stopped. `length` means that its output was cut off. The last value becomes the finish reason of
       * the reply.
       */
      finishReason?: 'stop' | 'length' | 'content_filter'
    }
  /**
   * Announces a model call with at most `promptTokens` and `outputTokensMax` tokens. `outputTokensMax` defaults to the
   * chat's `maxTokens`, or else the agent's `maxOutputTokens`. The service reserves the call's maximum cost before it
   * requests the next part, so yield this part before you call the model. If the reply is stopped before the next
   * `usage` part, the user pays for `promptTokens` and for the text since this part.
   */
  | { type: 'step'; promptTokens: number; outputTokensMax?: number }

/** Chat settings of an agent. */
export type ChatConfig = {
  /** Price of a turn. */
  readonly pricing: ChatPricing
  /** Price that the model's provider charges for the same usage. Users never see it. */
  readonly cost?: ChatCost
  /** Maximum number of tokens in the message and history given to the agent for a reply; 128,000 by default. */
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
  /** Generates the reply, part by part. */
  reply(run: ChatRun): AsyncIterable<ChatPart>
}
