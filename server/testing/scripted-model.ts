import type { ModelObject } from '../agents/config/define-config.ts'

/** One reply from a scripted model. `usage` defaults to 100 prompt tokens and 20 completion tokens. */
export type ScriptedReply = {
  readonly text?: string
  readonly toolCalls?: readonly { readonly name: string; readonly arguments: Record<string, unknown> }[]
  readonly usage?: { readonly promptTokens: number; readonly completionTokens: number }
}

export type ScriptedModel = ModelObject & {
  /** Options of each call so far, such as `prompt` and `tools`, as passed by the AI SDK. */
  readonly calls: readonly { readonly prompt: unknown; readonly [option: string]: unknown }[]
}

const usualUsage = { promptTokens: 100, completionTokens: 20 }

/**
 * Creates a model for tests. Each call returns the next reply, and the last one repeats. A string is a reply with that
 * text. An error makes the call fail.
 */
export function scriptedModel(...replies: readonly (string | ScriptedReply | Error)[]): ScriptedModel {
  const calls: { prompt: unknown }[] = []
  const answer = (options: { prompt: unknown }) => {
    const reply = replies[Math.min(calls.push(options), replies.length) - 1] ?? ''
    if (reply instanceof Error) throw reply
    return answerOf(typeof reply === 'string' ? { text: reply } : reply, calls.length)
  }
  return {
    specificationVersion: 'v4',
    provider: 'errand',
    modelId: 'scripted',
    calls,
    doGenerate: async (options: { prompt: unknown }) => ({ ...answer(options), warnings: [] }),
    doStream: async (options: { prompt: unknown }) => ({ stream: streamOf(answer(options)) }),
  }
}

function answerOf({ text = '', toolCalls = [], usage = usualUsage }: ScriptedReply, callCount: number) {
  const { completionTokens: output, promptTokens: input } = usage
  return {
    content: [
      ...(text === '' ? [] : [{ type: 'text' as const, text }]),
      ...toolCalls.map(({ arguments: args, name }, index) => ({
        type: 'tool-call' as const,
        toolCallId: `call-${callCount}-${index + 1}`,
        toolName: name,
        input: JSON.stringify(args),
      })),
    ],
    finishReason: { unified: toolCalls.length > 0 ? 'tool-calls' : 'stop', raw: undefined },
    usage: {
      inputTokens: { total: input, noCache: input, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: output, text: output, reasoning: 0 },
    },
  }
}

function streamOf({ content, ...end }: ReturnType<typeof answerOf>): ReadableStream<object> {
  const id = '1'
  const parts: object[] = content.flatMap((part): object[] =>
    part.type === 'tool-call'
      ? [part]
      : [
          { type: 'text-start', id },
          { type: 'text-delta', id, delta: part.text },
          { type: 'text-end', id },
        ],
  )
  return new ReadableStream({
    start(controller) {
      for (const part of [{ type: 'stream-start', warnings: [] }, ...parts, { type: 'finish', ...end }])
        controller.enqueue(part)
      controller.close()
    },
  })
}
