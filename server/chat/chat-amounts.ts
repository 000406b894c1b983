import type { Chat } from '../agents/config/catalogue.ts'
import { tokensAtMost, type ResponseFormat } from '../agents/run/chat-messages.ts'
import { filesAtMost, sumTokens, type FileTokens } from '../agents/files/file-tokens.ts'
import { messagesAtMost, tokensAroundPart } from '../agents/run/prompt-size.ts'
import { chatHold, chatUse, dearestUse, type ChatRates } from '../billing/chat-price.ts'
import type { Units } from '../kernel/money.ts'
import { draftFiles, type MessageDraft } from './files/message-draft.ts'
import { tokensOf } from './message-input.ts'

/** What text is held ahead: each growth is a commit. */
export const holdStepTokens = 2000

export type Amounts = {
  /** The prompt and one token: less does not pay for the first letter. */
  required: Units
  /** The prompt and what its first call of a model may write, or text that is held ahead. */
  hold: Units
  /** The prompt and as long a reply as is allowed, within the caps. */
  most: Units
}

type AmountsOf = {
  chat: Chat
  rates: ChatRates
  /** An upper bound for history and message: all that an agent that reports no use is charged for. */
  promptTokens: number
  /** An upper bound for all that the first call of a model may be sent. */
  promptTokensMax: number
  /** Some file has no bound, so the whole prompt must be held for agents of every kind. */
  hasUnboundedFile?: boolean
  maxTokens: number | undefined
  /** What caps leave; Infinity without any. */
  left: Units
}

export function amountsOf(of: AmountsOf): Amounts {
  const { chat, hasUnboundedFile, left, maxTokens, promptTokens, promptTokensMax, rates } = of
  const { isModel, maxOutputTokens } = chat
  const longest = maxTokens ?? maxOutputTokens
  const upTo = (completionTokens: number) =>
    chatHold(dearestUse({ promptTokens: promptTokensMax, completionTokens }, rates), rates)
  // What an agent of another kind sends a provider is known only when it says so, by a step.
  const isPromptHeld = isModel || hasUnboundedFile === true
  const required = isPromptHeld ? upTo(1) : chatHold(chatUse({ promptTokens, completionTokens: 1 }), rates)
  const hold = Math.max(required, upTo(isModel ? longest : Math.min(longest, holdStepTokens)))
  return { required, hold, most: Math.min(left, Math.max(hold, upTo(longest))) }
}

type Prompt = {
  responseFormat: ResponseFormat | undefined
  /** Maximum tokens of the definitions of the agent's own tools. */
  toolTokensMax: number
  history: { messages: readonly { content: string }[]; tokens: number }
  draft: MessageDraft
  /** Of the history. */
  files: readonly FileTokens[]
}

type PromptBound = { promptTokensMax: number; hasUnboundedFile: boolean }

export function promptAtMost(
  { contextTokens, isModel, textsBeside }: Chat,
  { draft, files, history, responseFormat, toolTokensMax }: Prompt,
): PromptBound {
  const said = [...history.messages.map(({ content }) => content), draft.text]
  const texts = [...textsBeside(responseFormat), ...said].filter((text) => text !== '')
  // Agents of other kinds say what they send besides the texts, by a step.
  const tokens = isModel ? toolTokensMax + messagesAtMost(texts) : tokensAtMost(texts.join(''))
  const all = [...files, ...draftFiles(draft)]
  const sum = sumTokens(all)
  const filesMax = filesAtMost(sum, { contextTokens, promptTokens: history.tokens + tokensOf(draft) })
  return {
    promptTokensMax: Math.max(tokens + filesMax + all.length * tokensAroundPart, history.tokens),
    hasUnboundedFile: sum.unboundedTokens !== undefined,
  }
}
