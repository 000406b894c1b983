import type { Chat } from '../agents/config/catalogue.ts'
import { tokensAtMost, type ResponseFormat } from '../agents/run/chat-messages.ts'
import { filesAtMost, sumTokens, type FileTokens } from '../agents/files/file-tokens.ts'
import { messagesAtMost, tokensAroundPart } from '../agents/run/prompt-size.ts'
import { callUse, chatHold, mostExpensiveUse, highestRates, type ChatRates } from '../billing/chat-price.ts'
import type { Units } from '../kernel/money.ts'
import { draftFiles, type MessageDraft } from './files/message-draft.ts'
import { tokensOf } from './message-input.ts'

/**
 * Number of output tokens to reserve in advance. Each increase of the reserved amount is a database commit, so larger
 * steps save commits.
 */
export const holdStepTokens = 2000

export type Amounts = {
  /** Cost of the prompt and one output token, the minimum for any reply. */
  required: Units
  /**
   * Amount to reserve at admission. For model agents, the cost of the prompt and the maximum output of the first model
   * call. For code and http agents, the cost of the prompt and `holdStepTokens` of output.
   */
  hold: Units
  /** Cost of the prompt and the longest allowed reply, limited by the caps. */
  most: Units
}

type AmountsOf = {
  chat: Chat
  rates: ChatRates
  /**
   * Maximum number of tokens in the history and the message. If the agent reports no usage, only this part of the
   * prompt is charged.
   */
  promptTokens: number
  /** Maximum number of tokens in the complete prompt of the first model call. */
  promptTokensMax: number
  /**
   * Whether the token count of any file has no known maximum. If so, the cost of the whole prompt is reserved for every
   * kind of agent.
   */
  hasUnboundedFile?: boolean
  maxTokens: number | undefined
  /** Amount that the caps still allow. Infinity if there are no caps. */
  left: Units
}

export function amountsOf(of: AmountsOf): Amounts {
  const { chat, hasUnboundedFile, left, maxTokens, promptTokens, promptTokensMax } = of
  const rates = highestRates(of.rates)
  const { isModel, maxOutputTokens } = chat
  const longest = maxTokens ?? maxOutputTokens
  const upTo = (completionTokens: number) =>
    chatHold(mostExpensiveUse({ promptTokens: promptTokensMax, completionTokens }, rates), rates)
  // Code and http agents announce each complete prompt just before its model call, so require only the known part here.
  const isPromptHeld = isModel || hasUnboundedFile === true
  const required = isPromptHeld ? upTo(1) : chatHold(callUse({ promptTokens, completionTokens: 1 }, rates), rates)
  const hold = Math.max(required, upTo(isModel ? longest : Math.min(longest, holdStepTokens)))
  return { required, hold, most: Math.min(left, Math.max(hold, upTo(longest))) }
}

type Prompt = {
  responseFormat: ResponseFormat | undefined
  toolTokensMax: number
  history: { messages: readonly { content: string }[]; tokens: number }
  draft: MessageDraft
  /** Files in the history and in the request's earlier messages. */
  files: readonly FileTokens[]
}

type PromptBound = { promptTokensMax: number; hasUnboundedFile: boolean }

export function promptAtMost(
  { contextTokens, isModel, textsBeside }: Chat,
  { draft, files, history, responseFormat, toolTokensMax }: Prompt,
): PromptBound {
  const said = [...history.messages.map(({ content }) => content), draft.text]
  const texts = [...textsBeside(responseFormat), ...said].filter((text) => text !== '')
  // Count tools only for model agents. Code and http agents announce the rest of each prompt just before its model
  // call.
  const tokens = isModel ? toolTokensMax + messagesAtMost(texts) : tokensAtMost(texts.join(''))
  const all = [...files, ...draftFiles(draft)]
  const sum = sumTokens(all)
  const filesMax = filesAtMost(sum, { contextTokens, promptTokens: history.tokens + tokensOf(draft) })
  return {
    promptTokensMax: Math.max(tokens + filesMax + all.length * tokensAroundPart, history.tokens),
    hasUnboundedFile: sum.unboundedTokens !== undefined,
  }
}
