import type { Chat } from '../agents/config/catalogue.ts'
import type { Caller } from '../procedures/caller.ts'
import type { ChatRates } from '../billing/chat-price.ts'
import { balanceRefusal, limitRefusal, owedRefusal, rateRefusal } from '../billing/refusals.ts'
import { isFull } from '../store/limits/judge-admission.ts'
import type { Store } from '../store/store.ts'
import { amountsOf } from './chat-amounts.ts'

type Foresee = { agentId: string; caller: Caller; chat: Chat; rates?: ChatRates | undefined; payloadBytes?: number }

const leastSent = { promptTokens: 0, promptTokensMax: 0, maxTokens: undefined, left: Infinity }

/**
 * Throws if the rate limit, another limit or the balance rules out any message to the agent. Call it before reading or
 * writing anything for the message. Unlike opening the turn, this check does not count toward the limits.
 */
export async function foreseeRefusal(
  store: Pick<Store, 'foreseeLimits' | 'getAccount' | 'readRate'>,
  { agentId, caller, chat, payloadBytes = 0, rates = chat.rates }: Foresee,
): Promise<void> {
  const { userId } = caller
  const rate = await store.readRate(caller)
  if (isFull(rate)) throw rateRefusal(rate)
  const { required } = amountsOf({ chat, rates, ...leastSent })
  const refused = await store.foreseeLimits({ ...caller, agentId, required, payloadBytes })
  if (refused) throw limitRefusal(refused)
  const account = await store.getAccount(userId)
  if (account && account.owed > 0) throw owedRefusal(account.owed)
  if (account && account.balance < required) throw balanceRefusal({ ...account, required })
}
