import { receiptCost, unitsOfUsd, type ChatReceipt } from './chat-cost.ts'
import type { simRatesOf } from './sim-agents.ts'
import type { Checks } from './sim-checks.ts'
import type { BilledCall, SimProvider } from './sim-provider.ts'
import type { SeenRows } from './row-audit.ts'

/** Units charged above (`over`) and below (`under`) the provider's bill. */
type Difference = { turns: number; over: number; under: number }

/** Totals of model chats, in units: the provider's bill, and how far users' charges differ from it. */
export type ModelMoney = {
  turns: number
  billed: number
  charged: number
  writtenOff: number
  /** Turns that ended during a call whose usage was not reported, so that the service cannot know the true cost. */
  left: Difference
  /** Turns with completed calls without reported usage, which the service estimates. */
  uncounted: Difference
  /** The provider's bill for turns that are free because the provider or the service failed. */
  free: number
  freeTurns: number
}

type Rates = ReturnType<typeof simRatesOf>

type SentMessage = {
  n: number
  turnId: string | null
  /** Whether the provider is scripted to fail, which makes the turn free. */
  mayFail: boolean
  /** Whether the service reads each call to its end even if the reply ends early. */
  isReadOn: boolean
  rates: Rates
}

const dayUnitsMin = 400_000
const none = { promptTokens: 0, cachedPromptTokens: 0, completionTokens: 0, reasoningTokens: 0, toolCalls: 0 }

export class BillAudit {
  readonly #provider: SimProvider
  readonly #checks: Checks
  readonly #sent: SentMessage[] = []
  readonly #interrupted = new Set<string>()

  constructor(provider: SimProvider, checks: Checks) {
    this.#provider = provider
    this.#checks = checks
  }

  sent(n: number, of: Omit<SentMessage, 'n'>): void {
    this.#sent.push({ n, ...of })
  }

  interrupted(turnId: string): void {
    this.#interrupted.add(turnId)
  }

  check({ turnMoney, turns }: SeenRows): ModelMoney {
    const checks = this.#checks
    const difference = (): Difference => ({ turns: 0, over: 0, under: 0 })
    const [left, uncounted] = [difference(), difference()]
    const money: ModelMoney = {
      turns: 0,
      billed: 0,
      charged: 0,
      writtenOff: 0,
      free: 0,
      freeTurns: 0,
      left,
      uncounted,
    }
    checks.same(this.#provider.faults, [], 'what the provider did not expect')
    const cachedIn = new Set<string>()
    for (const { isReadOn, mayFail, n, rates, turnId } of this.#sent) {
      const calls = this.#provider.callsOf(n)
      if (turnId === null) {
        checks.same(calls.length, 0, `calls of a model for the refused message ${n}`)
        continue
      }
      const turn = turns.get(turnId)
      // The turn is still in progress, or was lost when a backup was restored.
      if (turn?.outcome === undefined || turn.outcome === null) continue
      const { session_id: sessionId } = turn
      const told = calls.reduce((sum, { cachedPromptTokens, isTold }) => sum + (isTold ? cachedPromptTokens : 0), 0)
      if (told > 0) cachedIn.add(sessionId)
      money.turns++
      const what = `${turnId}, message ${n}, which ${turn.outcome}`
      const charge = turnMoney.get(turnId)
      const receipt = charge && (JSON.parse(charge.breakdown!) as ChatReceipt)
      const toolCalls = receipt?.toolCalls ?? 0
      const bill = costOf(calls, { rates, toolCalls, carriedBeforeUsd: receipt?.carriedBeforeUsd })
      if (!receipt) {
        checks.that(bill === 0 || mayFail || this.#interrupted.has(turnId), `${what}, is free and was billed ${bill}`)
        if (bill === 0) continue
        money.free += bill
        money.freeTurns++
        continue
      }
      const writtenOff = unitsOfUsd(receipt.writtenOffUsd ?? '0')
      const charged = -charge.amount
      const used = receiptCost({ ...receipt, rates })
      checks.same(charged + writtenOff, used, `charged and written off of ${what}`)
      const untold = calls.filter(({ isTold }) => !isTold)
      checks.that(
        !isReadOn || untold.length === 0,
        `${what}, has ${untold.length} calls that were not read to their end`,
      )
      const isCut = turn.outcome === 'truncated'
      // If the provider reported usage just as the reader left, the report may have come too late.
      const unknown = isCut && !isReadOn ? [...untold, ...calls.slice(-1)] : untold
      const most = Math.max(0, ...unknown.map((call) => estimateOf(call, rates)))
      // The service prices an estimated prompt as cached if the session's prompt was cached before. The provider may
      // not have cached it this time.
      const promptTokens = Math.max(0, receipt.cachedPromptTokens - told)
      checks.that(promptTokens === 0 || cachedIn.has(sessionId), `${what}, was priced as cached without a report of it`)
      const asCached = receiptCost({ ...none, promptTokens, cachedPromptTokens: promptTokens, rates })
      const notCached = receiptCost({ ...none, promptTokens, rates }) - asCached
      const isBounded = calls.every(isWithinBounds)
      checks.that(writtenOff === 0 || !isBounded, () => `${writtenOff} of ${what}, are written off of what was held`)
      checks.that(
        used - bill <= most && bill - used <= most + notCached,
        () => `${what}: ${used} are asked for it and ${bill} by the provider, ${JSON.stringify({ receipt, calls })}`,
      )
      money.billed += bill
      money.charged += charged
      money.writtenOff += writtenOff
      if (used === bill && untold.length === 0) continue
      const of = isCut ? left : uncounted
      of.turns++
      if (used > bill) of.over += used - bill
      else of.under += bill - used
    }
    return money
  }
}

/**
 * Checks that the charges of a hostile day differ from the provider's bill by less than 1 %. Excludes abandoned calls
 * without reported usage, because the service cannot see their hidden reasoning and their tokenizer is not o200k.
 */
export function checkDay(checks: Checks, { billed, uncounted }: ModelMoney): void {
  // Too few turns to judge a whole day.
  if (billed < dayUnitsMin) return
  const percent = billed / 100
  checks.that(uncounted.under < percent, `${uncounted.under} of ${billed} are not asked for`)
  const apart = Math.abs(uncounted.over - uncounted.under)
  checks.that(apart < percent, `what is asked for without those who left is ${apart} apart from ${billed}`)
}

type Besides = { rates: Rates; toolCalls: number; carriedBeforeUsd: string | undefined }

/** Returns the cost of these calls at user rates, including tool calls and the carried remainder. */
function costOf(calls: readonly BilledCall[], { carriedBeforeUsd = '0', rates, toolCalls }: Besides): number {
  const sum = { ...none, toolCalls, carriedBeforeUsd }
  for (const call of calls) {
    sum.promptTokens += call.promptTokens
    sum.cachedPromptTokens += call.cachedPromptTokens
    sum.completionTokens += call.completionTokens
    sum.reasoningTokens += call.reasoningTokens
  }
  return receiptCost({ ...sum, rates })
}

function isWithinBounds(call: BilledCall): boolean {
  return call.completionTokens <= call.completionTokensMax && call.promptTokens <= call.promptTokensMax
}

/**
 * Returns the maximum error of the charge for a call without reported usage: the cost of the allowed difference between
 * the two token counts, or the highest possible cost.
 */
function estimateOf(call: BilledCall, rates: Rates): number {
  const { completionTokens, completionTokensMax, promptTokensMax, slackTokens } = call
  if (slackTokens !== null) {
    const slack = { promptTokens: slackTokens, completionTokens: slackTokens, reasoningTokens: slackTokens }
    return receiptCost({ ...none, ...slack, rates }) + 1
  }
  const written = Math.max(completionTokens, completionTokensMax)
  const of = { ...none, promptTokens: promptTokensMax, completionTokens: written, reasoningTokens: written }
  return receiptCost({ ...of, rates }) + 1
}
