import type { Chat } from '../agents/config/catalogue.ts'
import { tokensAtMost } from '../agents/run/chat-messages.ts'
import { sumTokens, type FileTokens } from '../agents/files/file-tokens.ts'
import { messagesAtMost, tokensAroundPart } from '../agents/run/prompt-size.ts'
import { chatHold, chatUse, dearestUse, type ChatRates } from '../billing/chat-price.ts'
import type { Units } from '../kernel/money.ts'
import { draftFiles, type MessageDraft } from './files/message-draft.ts'

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
  maxTokens: number | undefined
  /** What caps leave; Infinity without any. */
  left: Units
}

export function amountsOf({ chat, left, maxTokens, promptTokens, promptTokensMax, rates }: AmountsOf): Amounts {
  const { isModel, maxOutputTokens } = chat
  const longest = maxTokens ?? maxOutputTokens
  const upTo = (completionTokens: number) =>
    chatHold(dearestUse({ promptTokens: promptTokensMax, completionTokens }, rates), rates)
  // What an agent of another kind sends a provider is known only when it says so, by a step.
  const required = isModel ? upTo(1) : chatHold(chatUse({ promptTokens, completionTokens: 1 }), rates)
  const hold = Math.max(required, upTo(isModel ? longest : Math.min(longest, holdStepTokens)))
  return { required, hold, most: Math.min(left, Math.max(hold, upTo(longest))) }
}

type Prompt = {
  history: { messages: readonly { content: string }[]; tokens: number }
  draft: MessageDraft
  /** Of the history. */
  files: readonly FileTokens[]
}

export function promptAtMost({ instructions, isModel }: Chat, { draft, files, history }: Prompt): number {
  const texts = [instructions, ...history.messages.map(({ content }) => content), draft.text].filter(
    (text) => text !== '',
  )
  // Agents of other kinds say what they send besides the texts, by a step.
  const tokens = isModel ? messagesAtMost(texts) : tokensAtMost(texts.join(''))
  const all = [...files, ...draftFiles(draft)]
  return Math.max(tokens + sumTokens(all).tokensMax + all.length * tokensAroundPart, history.tokens)
}
