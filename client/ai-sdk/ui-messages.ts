import type { MessagePart } from '../types/api-types.ts'
import type { Message } from '../types/client-types.ts'
import type { ErrandUIFile, ErrandUIMessage } from './ui-types.ts'

/** A transaction of type `chat_charge`. */
type Charge = { turnId?: string | undefined; amountUsd: string }

/**
 * Converts the messages of a session to initial messages for `useChat`. A reply has the same id as in its stream, so a
 * resumed reply replaces its stored copy. Pass the session's transactions to give each reply its cost.
 *
 * @example
 * const { messages } = await errand.sessions.messages({ sessionId })
 * const { transactions } = await errand.transactions.list({ sessionId, type: 'chat_charge' })
 * useChat({ id: sessionId, messages: toUIMessages(messages, { transactions }), transport, resume: true })
 */
export function toUIMessages(
  messages: readonly Message[],
  { transactions = [] }: { transactions?: readonly Charge[] } = {},
): ErrandUIMessage[] {
  const costs = new Map(transactions.map(({ amountUsd, turnId }) => [turnId, amountUsd.replace('-', '')]))
  return messages.map(({ content, id, parts = [{ type: 'text', text: content }], role, toolCalls = [], turnId }) => ({
    id: role === 'assistant' ? turnId : id,
    role,
    metadata: { turnId, ...(role === 'assistant' && costs.has(turnId) && { costUsd: costs.get(turnId)! }) },
    parts: [
      ...toolCalls.map((call) => ({
        type: 'dynamic-tool' as const,
        toolName: call.name,
        toolCallId: call.id,
        input: call.arguments,
        providerExecuted: true as const,
        ...(call.output === null
          ? { state: 'output-error' as const, errorText: "The reply was cut off before the tool's result." }
          : { state: 'output-available' as const, output: call.output }),
      })),
      ...parts.map((part) => (part.type === 'text' ? { ...part, state: 'done' as const } : fileOf(part))),
    ],
  }))
}

function fileOf({ filename, mediaType, url }: Extract<MessagePart, { type: 'file' }>): ErrandUIFile {
  return { type: 'file', mediaType, url, ...(filename !== undefined && { filename }) }
}
