import type { AgentHost } from '../agents/threads/agent-port.ts'
import { boundNow } from '../agents/files/file-tokens.ts'
import type { ToolTokens } from '../agents/model/tool-tokens.ts'
import { roughTokens, tokensAtMost, type ResponseFormat } from '../agents/run/chat-messages.ts'
import type { ChatRates } from '../billing/chat-price.ts'
import type { EpochMs } from '../kernel/clock.ts'
import type { Units } from '../kernel/money.ts'
import { leftWithin } from '../store/limits/judge-admission.ts'
import { filesOf } from '../store/sessions/session-records.ts'
import type { History } from '../store/sessions/session-types.ts'
import type { Store } from '../store/store.ts'
import type { Admissible, Ask } from './admissible-message.ts'
import { amountsOf, promptAtMost, type Amounts } from './chat-amounts.ts'
import { draftFiles } from './files/message-draft.ts'
import { earlierTokens, nothingSaid, tokensOf, withEarlier } from './message-input.ts'

/** Minimum time that providers keep a prompt in their cache. */
const cacheKeptMs = 300_000

export type WeighMessage = Pick<Ask, 'input'> & {
  admitted: Admissible
  maxCost: Units | null
  rates: ChatRates
  responseFormat?: ResponseFormat | undefined
  /**
   * Returns the number of prompt tokens that the session's agent last sent in addition to the messages. Not used for
   * model agents, whose prompts are known.
   */
  besideOf: (sessionId: string) => number
}

export type Weighed = {
  amounts: Amounts
  /**
   * Computes the amounts from an exact token count of the message. Returns undefined for model agents, or if no thread
   * answers in time.
   */
  recount: () => Promise<Amounts | undefined>
  history: History
  /** Amount that the caps still allow. Infinity if there are no caps. */
  left: Units
  sentAtMost: number
  readHistory: () => Promise<History>
}

export type WeighParts = {
  agents: Pick<AgentHost, 'countTokens'>
  store: Pick<Store, 'readHistory'>
  toolTokens: ToolTokens
}

export async function weighMessage(
  { agents, store, toolTokens }: WeighParts,
  { admitted, besideOf, input, maxCost, rates, responseFormat }: WeighMessage,
): Promise<Weighed> {
  const { agent, chat, continues, draft, earlier, session } = admitted
  const { params, replaces = null, sessionId } = input
  const tokensMax = chat.contextTokens - tokensOf(draft) - earlierTokens(earlier)
  const readHistory = async () => {
    if (!session && continues === null) return nothingSaid
    return await store.readHistory({ sessionId, continues, replaces, tokensMax, withCachedAt: chat.isModel })
  }
  const history = await readHistory()
  const whole = withEarlier(history, earlier)
  const files = [
    ...earlier.flatMap((message) => draftFiles(message.draft)),
    ...history.messages.flatMap(({ parts }) => filesOf(parts)).map((file) => boundNow(file, chat)),
  ]
  const { hasUnboundedFile, promptTokensMax: sentAtMost } = promptAtMost(chat, {
    draft,
    files,
    history: whole,
    responseFormat,
    toolTokensMax: toolTokens.get(agent) ?? 0,
  })
  const overheadTokensMax = session && !chat.isModel ? besideOf(sessionId) : 0
  const left = leftWithin(maxCost, session)
  const amountsWith = (messageTokens: number) =>
    amountsOf({
      chat,
      rates,
      promptTokens: whole.tokens + messageTokens + draft.files.boundedMax,
      promptTokensMax: sentAtMost + overheadTokensMax,
      hasUnboundedFile,
      maxTokens: params?.maxTokens,
      left,
    })
  const recount = async () => {
    // For model agents, always use the maximum token count of the prompt.
    const tokens = chat.isModel ? undefined : await agents.countTokens(draft.text)
    return tokens === undefined ? undefined : amountsWith(Math.max(tokens, roughTokens(draft.text)))
  }
  return { amounts: amountsWith(tokensAtMost(draft.text)), history, left, readHistory, recount, sentAtMost }
}

/**
 * Whether the provider probably has the history in its cache. Requires that the last reply reported cached tokens
 * recently, and that this prompt starts like the previous one: with the complete session, and without tools or a
 * response format.
 */
export function isCached(
  { cachedAt, messages }: History,
  { admitted, now, setting }: { admitted: Admissible; now: EpochMs; setting: Ask['setting'] },
): boolean {
  const { connectorIds, earlier, session } = admitted
  if (cachedAt === null || now - cachedAt > cacheKeptMs || !session) return false
  const isWhole = messages.length === session.messageCount && earlier.length === 0
  return isWhole && connectorIds.length === 0 && !setting?.responseFormat
}
