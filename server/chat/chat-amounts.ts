import type { Chat } from '../agents/config/catalogue.ts'
import { tokensAtMost, type ResponseFormat } from '../agents/run/chat-messages.ts'
import { filesAtMost, sumTokens, type FileTokens } from '../agents/files/file-tokens.ts'
import { messagesAtMost, tokensAroundPart } from '../agents/run/prompt-size.ts'
import { chatHold, chatUse, dearestUse, type ChatRates } from '../billing/chat-price.ts'
import type { Units } from '../kernel/money.ts'
import { draftFiles, type MessageDraft } from './files/message-draft.ts'
import { tokensOf } from './message-input.ts'

/** Tokens of text to hold ahead, because each growth of the hold is a commit. */
export const holdStepTokens = 2000

export type Amounts = {
  /** Prompt plus one token, the minimum for any output. */
  required: Units
  /** Prompt plus the maximum output of the first model call, or plus the text held ahead. */
  hold: Units
  /** Prompt plus the longest reply allowed, within the caps. */
  most: Units
}

type AmountsOf = {
  chat: Chat
  rates: ChatRates
  /** Upper bound for history and message. An agent that reports no usage is charged for nothing else in the prompt. */
  promptTokens: number
  /** Upper bound for everything that the first model call may be sent. */
  promptTokensMax: number
  /** Whether a file has no token bound. Then the whole prompt must be held for agents of every kind. */
  hasUnboundedFile?: boolean
  maxTokens: number | undefined
  /** Amount left under the caps; Infinity without caps. */
  left: Units
}

export function amountsOf(of: AmountsOf): Amounts {
  const { chat, hasUnboundedFile, left, maxTokens, promptTokens, promptTokensMax, rates } = of
  const { isModel, maxOutputTokens } = chat
  const longest = maxTokens ?? maxOutputTokens
  const upTo = (completionTokens: number) =>
    chatHold(dearestUse({ promptTokens: promptTokensMax, completionTokens }, rates), rates)
  // Other kinds of agents report only at each step what they send to a provider.
  const isPromptHeld = isModel || hasUnboundedFile === true
  const required = isPromptHeld ? upTo(1) : chatHold(chatUse({ promptTokens, completionTokens: 1 }), rates)
  const hold = Math.max(required, upTo(isModel ? longest : Math.min(longest, holdStepTokens)))
  return { required, hold, most: Math.min(left, Math.max(hold, upTo(longest))) }
}

type Prompt = {
  responseFormat: ResponseFormat | undefined
  /** Max tokens of the definitions of the agent's own tools. */
  toolTokensMax: number
  history: { messages: readonly { content: string }[]; tokens: number }
  draft: MessageDraft
  /** Files of the history and of earlier messages. */
  files: readonly FileTokens[]
}

type PromptBound = { promptTokensMax: number; hasUnboundedFile: boolean }

export function promptAtMost(
  { contextTokens, isModel, textsBeside }: Chat,
  { draft, files, history, responseFormat, toolTokensMax }: Prompt,
): PromptBound {
  const said = [...history.messages.map(({ content }) => content), draft.text]
  const texts = [...textsBeside(responseFormat), ...said].filter((text) => text !== '')
  // Other kinds of agents report at each step what else they send.
  const tokens = isModel ? toolTokensMax + messagesAtMost(texts) : tokensAtMost(texts.join(''))
  const all = [...files, ...draftFiles(draft)]
  const sum = sumTokens(all)
  const filesMax = filesAtMost(sum, { contextTokens, promptTokens: history.tokens + tokensOf(draft) })
  return {
    promptTokensMax: Math.max(tokens + filesMax + all.length * tokensAroundPart, history.tokens),
    hasUnboundedFile: sum.unboundedTokens !== undefined,
  }
}
